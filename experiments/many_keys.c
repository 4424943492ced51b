// What a program for one shape takes over events of many keys: stacks in arrays, walked from their heads.
//
// usage: many_keys FOLDER all|next|series|carts|next-carts dense|wide|text SPAN
// FOLDER has ts.bin (int64, rising), type.bin (int8: view 0, cart 1, purchase 2), and the keys: dense.bin
// or wide.bin (int64), or offsets.bin and bytes.bin. Timed by the clock of the processor: from columns in
// memory to the last row number that is written, the tables of keys and all memory included.
#include "many_keys.h"

// Instances of a level, by number from 1 on: a ring of those that are alive, which grows.
typedef struct { int64_t ts; uint32_t row, rip, below; } Instance;
typedef struct { Instance *cells; uint32_t mask, last, tail; } Level;
typedef struct { uint32_t *rows; size_t count, room; } Rows;


static void start(Level *level) { *level = (Level){malloc(1024 * sizeof(Instance)), 1023, 0, 1}; }

static inline void evict(Level *level, int64_t bound) {
    while (level->tail <= level->last && level->cells[level->tail & level->mask].ts <= bound) level->tail++;
}

static inline uint32_t push(Level *level, Instance instance) {
    if (level->last + 1 - level->tail > level->mask) {
        uint32_t mask = 2 * level->mask + 1;
        Instance *cells = malloc((mask + 1ul) * sizeof(Instance));
        for (uint32_t n = level->tail; n <= level->last; n++) cells[n & mask] = level->cells[n & level->mask];
        free(level->cells);
        level->cells = cells, level->mask = mask;
    }
    level->cells[++level->last & level->mask] = instance;
    return level->last;
}

static inline uint32_t *room_for(Rows *out, size_t more) {
    if (out->count + more > out->room) {
        out->room = 2 * out->room + more + 65536;
        out->rows = realloc(out->rows, out->room * sizeof(uint32_t));
    }
    return out->rows + out->count;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const char *folder = argv[1], *shape = argv[2], *kind = argv[3];
    int64_t span = atoll(argv[4]), keys = 0, matches = 0, sum = 0;
    size_t size;
    const int64_t *ts = column(folder, "ts", &size);
    int64_t events = size / 8;
    const int8_t *types = column(folder, "type", &size);
    int is_dense = !strcmp(kind, "dense"), is_text = !strcmp(kind, "text"), is_next = !strcmp(shape, "next"), is_series = !strcmp(shape, "series");
    if (!is_text) numbers = column(folder, kind, &size);
    else offsets = column(folder, "offsets", &size), bytes = column(folder, "bytes", &size);
    for (int64_t i = 0; is_dense && i < events; i++) if (numbers[i] >= keys) keys = numbers[i] + 1;
    double begun = now();
    Level views, carts;
    Rows out = {0}, ends = {0};
    Table table = {0};
    uint32_t *found = malloc(1024 * sizeof(uint32_t)), most = 1024;
    int is_carts = !strcmp(shape, "carts"), is_next_carts = !strcmp(shape, "next-carts");
    Heads *heads = is_dense ? zeroed(keys * sizeof(Heads)) : NULL;
    if (is_text) widen(&table);
    else if (!is_dense) widen_wide(&table);
    start(&views), start(&carts);
    for (int64_t i = 0; i < events; i++) {
        int64_t bound = ts[i] - span;
        Heads *head = is_dense ? heads + numbers[i] : is_text ? heads_of_text(&table, i) : heads_of(&table, numbers[i]);
        evict(&views, bound);
        int type = types[i];
        if (type == VIEW) {
            head->view = push(&views, (Instance){ts[i], i, 0, head->view});
        } else if (is_series) {
            if (type == CART) continue;
            uint32_t count = 0;
            for (uint32_t v = head->view; v >= views.tail; v = views.cells[v & views.mask].below) {
                if (count == most) found = realloc(found, (most *= 2) * sizeof(uint32_t));
                found[count++] = views.cells[v & views.mask].row;
            }
            for (uint32_t first = 0; first < count; first++) {
                uint32_t *to = room_for(&out, first + 2);
                for (int64_t j = first; j >= 0; j--) *to++ = found[j];
                *to = i;
                out.count += first + 2;
                *room_for(&ends, 1) = out.count;
                ends.count++;
            }
            matches += count;
        } else if (type == CART) {
            evict(&carts, bound);
            if (head->view < views.tail && !(is_next_carts && head->cart >= carts.tail)) continue;
            head->cart = push(&carts, (Instance){ts[i], i, head->view, head->cart});
            if (is_next || is_next_carts) head->view = 0;
        } else if (is_carts || is_next_carts) {
            evict(&carts, bound);
            uint32_t c = head->cart, count = 0;
            while (c >= carts.tail || (count && is_carts)) {
                if (c < carts.tail) {  // all carts before the last chosen one are done
                    c = carts.cells[found[--count] & carts.mask].below;
                    continue;
                }
                if (count == most) found = realloc(found, (most *= 2) * sizeof(uint32_t));
                found[count++] = c;
                Instance *cart = carts.cells + (c & carts.mask);
                for (uint32_t v = cart->rip; v >= views.tail; v = views.cells[v & views.mask].below) {
                    uint32_t *to = room_for(&out, count + 2);
                    *to++ = views.cells[v & views.mask].row;
                    for (int64_t j = count - 1; j >= 0; j--) *to++ = carts.cells[found[j] & carts.mask].row;
                    *to = i;
                    out.count += count + 2;
                    *room_for(&ends, 1) = out.count;
                    ends.count++;
                    matches++;
                }
                c = cart->below;
            }
        } else {
            evict(&carts, bound);
            for (uint32_t c = head->cart; c >= carts.tail; c = carts.cells[c & carts.mask].below) {
                Instance *cart = carts.cells + (c & carts.mask);
                for (uint32_t v = cart->rip; v >= views.tail; v = views.cells[v & views.mask].below) {
                    uint32_t *to = room_for(&out, 3);
                    to[0] = views.cells[v & views.mask].row, to[1] = cart->row, to[2] = i;
                    out.count += 3;
                    matches++;
                }
            }
            if (is_next) head->cart = 0;
        }
    }
    double took = now() - begun;
    for (size_t i = 0; i < out.count; i++) sum += out.rows[i];
    printf("matches=%ld sum=%ld seconds=%.6f\n", matches, sum, took);
}
