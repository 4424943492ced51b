// The same as many_keys.c, for a batch: all events are there, so nothing is evicted and nothing moves.
//
// usage: many_keys_batch FOLDER all|next|series|carts|next-carts dense|wide|text SPAN
// Heads are rows plus one, and links lie by row, so that the row of an event is its time. The first row in
// the window moves on with the events. What is written to is memory that was touched before the clock starts,
// but for the heads and the tables of keys.
#include "many_keys.h"

static inline uint32_t *put(uint32_t *to, uint32_t row) { *to = row - 1; return to + 1; }

// How many events ahead the heads of dense keys are fetched.
#define AHEAD 16

// A buffer that is full is written over; the sum keeps its rows.
static uint32_t *emptied(uint32_t *out, uint32_t *to, int64_t *sum) {
    while (to > out) *sum += *--to;
    return to;
}

static uint32_t *touched(size_t count) {
    uint32_t *found = malloc(count * sizeof(uint32_t));
    memset(found, 1, count * sizeof(uint32_t));
    return found;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const char *folder = argv[1], *shape = argv[2], *kind = argv[3];
    int64_t span = atoll(argv[4]), keys = 0, matches = 0, sum = 0;
    size_t size;
    const int64_t *ts = column(folder, "ts", &size);
    int64_t events = size / 8;
    const int8_t *types = column(folder, "type", &size);
    int is_dense = !strcmp(kind, "dense"), is_text = !strcmp(kind, "text");
    int is_next = !strcmp(shape, "next"), is_series = !strcmp(shape, "series");
    int is_carts = !strcmp(shape, "carts"), is_next_carts = !strcmp(shape, "next-carts");
    if (!is_text) numbers = column(folder, kind, &size);
    else offsets = column(folder, "offsets", &size), bytes = column(folder, "bytes", &size);
    for (int64_t i = 0; is_dense && i < events; i++) if (numbers[i] >= keys) keys = numbers[i] + 1;
    size_t most = events + (1 << 20);
    uint32_t *below = touched(events + 1), *before = touched(events + 1);
    uint32_t *out = touched(most), *to = out, *end = out + most, *found = touched(events + 1);
    double begun = now();
    Table table = {0};
    Heads *heads = is_dense ? zeroed(keys * sizeof(Heads)) : NULL;
    if (is_text) widen(&table);
    else if (!is_dense) widen_wide(&table);
    uint32_t first = 0;
    for (int64_t i = 0; i < events; i++) {
        if (is_dense && i + AHEAD < events) __builtin_prefetch(heads + numbers[i + AHEAD], 1);
        Heads *head = is_dense ? heads + numbers[i] : is_text ? heads_of_text(&table, i) : heads_of(&table, numbers[i]);
        int type = types[i];
        uint32_t row = i + 1, count = 0;
        if (type == VIEW) {
            below[row] = head->view, head->view = row;
            continue;
        }
        if (is_series && type == CART) continue;
        while (ts[first] <= ts[i] - span) first++;
        if (type == CART) {
            if (head->view <= first && !(is_next_carts && head->cart > first)) continue;
            before[row] = head->view, below[row] = head->cart, head->cart = row;
            if (is_next || is_next_carts) head->view = 0;
            continue;
        }
        if (is_carts || is_next_carts) {
            uint32_t c = head->cart;
            while (c > first || (count && is_carts)) {
                if (c <= first) {  // all carts before the last chosen one are done
                    c = below[found[--count]];
                    continue;
                }
                found[count++] = c;
                for (uint32_t v = before[c]; v > first; v = below[v]) {
                    if (to + count + 2 > end) to = emptied(out, to, &sum);
                    to = put(to, v);
                    for (int64_t j = count - 1; j >= 0; j--) to = put(to, found[j]);
                    to = put(to, row), matches++;
                }
                c = below[c];
            }
            continue;
        }
        for (uint32_t c = is_series ? head->view : head->cart; c > first; c = below[c]) {
            found[count++] = c;
            for (uint32_t v = is_series ? c : before[c]; v > first; v = is_series ? 0 : below[v]) {
                if (to + count + 3 > end) to = emptied(out, to, &sum);
                if (!is_series) to = put(put(to, v), c);
                else for (int64_t j = count - 1; j >= 0; j--) to = put(to, found[j]);
                to = put(to, row), matches++;
            }
        }
        if (is_next) head->cart = 0;
    }
    double took = now() - begun;
    emptied(out, to, &sum);
    printf("matches=%ld sum=%ld seconds=%.6f\n", matches, sum, took);
}
