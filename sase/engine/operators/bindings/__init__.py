"""What matches of every form hold: series, sets, groups, candidates, and unions of them."""
