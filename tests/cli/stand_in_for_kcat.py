"""Prints the messages of a topic, which is a file, slowly and at once, as `kcat -C … -u` does.

`-o s@TIME` begins at the first message of that time in milliseconds. After `--stop N` messages the
server is gone.
"""

import argparse
import json
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("-t", dest="topic")
parser.add_argument("-o", dest="offset", default="beginning")
parser.add_argument("--stop", type=int)
for flag in ("-C", "-u", "-q"):
    parser.add_argument(flag, action="store_true")
given = parser.parse_args()

with open(given.topic, encoding="utf-8") as topic:
    messages = topic.read().splitlines()
if given.offset.startswith("s@"):
    begin = int(given.offset[2:])
    messages = [each for each in messages if not each or json.loads(each)["ts"] >= begin]
for message in messages[: given.stop]:
    print(message, flush=True)
    time.sleep(0.01)
if given.stop is not None:
    print("% ERROR: 1/1 brokers are down: terminating", file=sys.stderr)
    sys.exit(1)
print("% Reached end of topic", file=sys.stderr)
