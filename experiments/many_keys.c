// What a program for one shape takes over events of many keys: stacks in arrays, walked from their heads.
//
// usage: many_keys FOLDER all|next|series dense|wide|text SPAN
// FOLDER has ts.bin (int64, rising), type.bin (int8: view 0, cart 1, purchase 2), and the keys: dense.bin
// or wide.bin (int64), or offsets.bin and bytes.bin. Timed by the clock of the processor: from columns in
// memory to the last row number that is written, the tables of keys and all memory included.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define VIEW 0
#define CART 1

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *column(const char *folder, const char *name, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.bin", folder, name);
    FILE *file = fopen(path, "rb");
    struct stat known;
    if (!file || fstat(fileno(file), &known)) { perror(path); exit(1); }
    void *found = malloc(known.st_size + 64);
    if (fread(found, 1, known.st_size, file) != (size_t)known.st_size) exit(1);
    fclose(file);
    *size = known.st_size;
    return found;
}

// What is looked up all over is on huge pages, where the system has them; it is zero, as it is fresh.
#define HUGE (2ul << 20)

static void *zeroed(size_t size) {
    char *found = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) exit(1);
    found = (char *)(((uintptr_t)found + HUGE - 1) / HUGE * HUGE);
    madvise(found, size, MADV_HUGEPAGE);
    return found;
}

static void give_back(void *memory, size_t size) {
    if (memory) munmap(memory, size);
}

// Instances of a level, by number from 1 on: a ring of those that are alive, which grows.
typedef struct { int64_t ts; uint32_t row, rip, below; } Instance;
typedef struct { Instance *cells; uint32_t mask, last, tail; } Level;
typedef struct { uint32_t view, cart; } Heads;
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

// Open tables that double, in whose slots the heads are. What tells them apart is flipped, so that what is
// fresh is free: of keys that are wide none is negative, and no length of a text is. A copy of each text stands
// behind those before it.
typedef struct { int64_t flipped; Heads heads; } Wide;
typedef struct { uint64_t hash; int64_t begin; Heads heads; int32_t flipped, unused; } Text;
typedef struct { Wide *wide; Text *slots; uint64_t mask; int64_t count; char *texts; size_t filled, room; } Table;

static const int64_t *numbers;
static const int32_t *offsets;
static const char *bytes;

static inline uint64_t mixed(uint64_t word) {
    unsigned __int128 product = (unsigned __int128)word * 0x9E3779B97F4A7C15ull;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t text_hash(const char *text, int64_t length) {
    uint64_t hash = length, word;
    for (; length >= 8; length -= 8, text += 8) { memcpy(&word, text, 8); hash = mixed(hash * 31 ^ word); }
    memcpy(&word, text, 8);  // there is room behind all texts
    return mixed(hash * 31 ^ (length ? word << (64 - 8 * length) : 0));
}

static inline int is_same(const char *text, const char *other, int64_t length) {
    uint64_t word, known;
    for (; length >= 8; length -= 8, text += 8, other += 8) {
        memcpy(&word, text, 8), memcpy(&known, other, 8);
        if (word != known) return 0;
    }
    memcpy(&word, text, 8), memcpy(&known, other, 8);
    return !length || (word ^ known) << (64 - 8 * length) == 0;
}

#define WIDEN(name, Slot, slots, hash_of) \
    static void name(Table *table) { \
        uint64_t before = table->slots ? table->mask + 1 : 0, mask = before ? 2 * before - 1 : 1023; \
        Slot *wider = zeroed((mask + 1) * sizeof(Slot)); \
        for (uint64_t i = 0; i < before; i++) { \
            Slot *slot = table->slots + i; \
            if (!slot->flipped) continue; \
            uint64_t at = (hash_of) & mask; \
            while (wider[at].flipped) at = (at + 1) & mask; \
            wider[at] = *slot; \
        } \
        give_back(table->slots, before * sizeof(Slot)); \
        table->slots = wider, table->mask = mask; \
    }
WIDEN(widen, Text, slots, slot->hash)
WIDEN(widen_wide, Wide, wide, mixed(~slot->flipped))

static inline Heads *heads_of(Table *table, int64_t key) {
    if (2 * (uint64_t)table->count > table->mask) widen_wide(table);
    uint64_t at = mixed(key) & table->mask;
    while (table->wide[at].flipped && table->wide[at].flipped != ~key) at = (at + 1) & table->mask;
    table->count += !table->wide[at].flipped;
    table->wide[at].flipped = ~key;
    return &table->wide[at].heads;
}

static inline Heads *add(Table *table, Text *slot, uint64_t hash, const char *text, int32_t length) {
    if (table->filled + length + 8 > table->room) {
        size_t room = 2 * table->room + length + 65536;
        char *texts = zeroed(room);
        if (table->filled) memcpy(texts, table->texts, table->filled);
        give_back(table->texts, table->room);
        table->texts = texts, table->room = room;
    }
    if (length) memcpy(table->texts + table->filled, text, length);
    *slot = (Text){hash, table->filled, {0, 0}, ~length, 0};
    table->filled += length;
    table->count++;
    return &slot->heads;
}

static inline Heads *heads_of_text(Table *table, int64_t row) {
    const char *text = bytes + offsets[row];
    int32_t length = offsets[row + 1] - offsets[row];
    uint64_t hash = text_hash(text, length);
    if (2 * (uint64_t)table->count > table->mask) widen(table);
    uint64_t at = hash & table->mask;
    for (; table->slots[at].flipped; at = (at + 1) & table->mask) {
        Text *slot = table->slots + at;
        if (slot->hash != hash || slot->flipped != ~length) continue;
        if (is_same(table->texts + slot->begin, text, length)) return &slot->heads;
    }
    return add(table, table->slots + at, hash, text, length);
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
            if (head->view < views.tail) continue;
            head->cart = push(&carts, (Instance){ts[i], i, head->view, head->cart});
            if (is_next) head->view = 0;
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
