// What both programs of many keys share: columns of a folder, memory, and tables of keys.
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

typedef struct { uint32_t view, cart; } Heads;

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
