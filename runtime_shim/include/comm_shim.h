/* Contract between instrumented LLVM IR and the runtime shim.
 *
 * The shim records value-flow chains (rows) of a sequential program while it runs natively. It is compiled to
 * bitcode, linked with the instrumented module and inlined; commanalyzer/recording/abi.py describes the same
 * contract for Python and a test compares both.
 *
 * LABELS. A label names one source value in 64 bits; 0 means "no source":
 *
 *    63       62       61        60        59        58      57 .. 42   41 ............. 0
 *   +--------+--------+---------+---------+---------+-------+----------+------------------+
 *   | EXACT8 | REG    | ADDRESS | CONTROL | EXACT4  | SMALL |    0     | word or row      |
 *   +--------+--------+---------+---------+---------+-------+----------+------------------+
 *
 *   word     memory value: (address mod 2^44) / 4 of its home, or address mod 2^42, see CA_UNIT_BITS
 *   REG      register value: the index of the row that defines it (same site and sources = same row);
 *            also a lifetime of a workspace word, which is identified in the same way
 *   CONTROL  the value selects, ADDRESS  the value addresses a pure count
 *   bits 57 to 42, with CA_ORDERED: which version of the word it is; no part of the name that rows have
 *   EXACT    the register that carries the label is an unchanged copy of the value, which has 8 or 4 bytes
 *            (never on REG; a widening cast of a 4-byte value is an EXACT4 copy)
 *   SMALL    where words are bytes: it has 1 byte, or, with EXACT4, 2
 *
 * SHADOW. One 64-bit entry per aligned 4-byte word of the program: 0 = the word holds a value whose home is the
 * word itself (the default, so that ordinary stores do not write), otherwise the label of the value replicated
 * there. Addresses are folded to 44 bits; Linux places program, heap and stack in disjoint 44-bit ranges. Where words
 * are bytes (CA_UNIT_BITS 0), to 42 bits; the arena is smaller and lies between programs at low and at random addresses.
 *
 *   program word a  ->  CA_SHADOW_BASE + ((a mod 2^44) / 4) * 8
 *
 * CHANGES. One 64-bit digest per 4 KiB and one per 2 MiB of the program's memory: the sum of a hash of every
 * shadow entry that is not 0 and its place. Equal shadow has equal digests, whatever happened in between.
 *
 * MEMORY MAP (virtual, reserved without committing)
 *   0x110000000000 - 0x310000000000   shadow (32 TiB)
 *   0x310000000000 - 0x310804000000   changes (32 GiB, then 64 MiB)
 *   0x680000000000 - 0x6c0000000000   arena: heap blocks and local arrays of the program (4 TiB); of bytes:
 *   0x681000000000 - 0x691000000000   (1 TiB)
 *
 * ROWS. A row is a distinct chain (site, sink, labels). The log keeps them in order of first occurrence; the
 * cursor predicts that the row after the last matched one comes next, so a repeated time step costs a hash
 * and a comparison per chain. Everything else goes through an index.
 */
#ifndef COMM_SHIM_H
#define COMM_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CA_ABI_VERSION 23u

#ifndef CA_UNIT_BITS
#define CA_UNIT_BITS 2 /* address bits within a word: a word has 4 bytes, or 1 in programs that work on smaller values */
#endif
#define CA_WORD_BYTES (1u << CA_UNIT_BITS)

#define CA_SHADOW_BASE 0x110000000000ull
#define CA_SHADOW_BYTES 0x200000000000ull
#define CA_CHANGES_BASE 0x310000000000ull
#define CA_CHANGES_BYTES 0x800000000ull
#define CA_CHANGES_PAGE 12u /* address bits within a page */
#define CA_COARSE_BASE 0x310800000000ull
#define CA_COARSE_BYTES 0x4000000ull
#define CA_COARSE_PAGE 21u
#define CA_ARENA_BASE (CA_UNIT_BITS ? 0x680000000000ull : 0x681000000000ull)
#define CA_ARENA_BYTES (CA_UNIT_BITS ? 0x40000000000ull : 0x10000000000ull)
#define CA_WORD_MASK 0x3ffffffffffull
#define CA_ADDRESS_MASK ((CA_WORD_MASK + 1) * CA_WORD_BYTES - 1)

#define CA_EXACT_8 (1ull << 63)
#define CA_EXACT_4 (1ull << 59)
#define CA_EXACT_SMALL (1ull << 58)
#define CA_EXACT (CA_EXACT_8 | CA_EXACT_4 | CA_EXACT_SMALL)
#define CA_REG (1ull << 62)
#define CA_ADDRESS (1ull << 61)
#define CA_CONTROL (1ull << 60)
#define CA_ROLES (CA_ADDRESS | CA_CONTROL)
/* Content of a workspace word that has no source: constants, input. Never 0, so that stores to it are seen. */
#define CA_NOTHING (CA_REG | CA_WORD_MASK)

/* Hash and number of occurrences of a row: what the fast path touches. */
struct ca_cell {
  uint64_t hash;
  uint64_t count;
};

/* Flags of a row in the trace. */
#define CA_ROW_WIDE 1u       /* labels are 64-bit; otherwise 32-bit differences to the sink, unless COMPACT */
#define CA_ROW_FILL 2u       /* a range of words became constant; the only label is their number */
#define CA_ROW_REGISTER 4u   /* the sink is the register value that this row defines */
#define CA_ROW_INPUT 8u      /* with FILL: written by the outside world */
#define CA_ROW_TEMPORARY 16u /* the row defines a vertex: one lifetime of the sink, a word of a workspace */
#define CA_ROW_UPDATE 32u    /* a new version of an earlier vertex; the sink is the row that defines it */
#define CA_ROW_FAMILY 64u    /* the sums and stores of whole loops; the labels say which, see below */
#define CA_ROW_COMPACT 256u  /* labels are 32-bit: REG, then ADDRESS and CONTROL, then a row or a word */

/* Compact labels name rows, and words of the arena's first 2 GiB where words have 4 bytes, by 29 bits. */
#define CA_COMPACT_BITS 29u
#define CA_COMPACT_FIRST 0x20000000000ull

/* "Labels" of a family: segments, whose rows follow each other. Each is a number of loops, one in the other, with
 * the number of entries in the upper 16 bits, the rounds of each loop, the outermost first, and the entries; each
 * round of the innermost loop stands for one row per entry, in order. A number of an entry is that of the first
 * round, then its change per round of each loop (words, or 0).
 *   store: its site with the number of its labels in the upper half (8 bits) and a mask of those that are results of
 *     the round's sums, given by their number, above it; the numbers of its sink and of its labels.
 *   sum, a register value that is a reduction: its site with the number of labels of a term in the upper half (8
 *     bits), that of initial labels above it, that of loops of terms but one above it and CA_FAMILY_SUM; the rounds of
 *     these; numbers of initial labels, then of those of a term, with changes per round of these, too. One segment. */
#define CA_FAMILY_SUM (1ull << 63)

/* Content of a row; its labels follow those of the row before it in the label column. */
struct ca_head {
  uint64_t sink; /* word; 0 for registers; a row for updates */
  uint32_t site;
  uint16_t num_labels;
  uint16_t flags;
};

/* Part of a row that was collected in a loop: `count` terms of `width` labels each. Label k of term i is
 * runs[first + k].start + i * stride, or listed[first + i * width + k]. */
struct ca_group {
  uint64_t row;
  uint64_t first;
  uint64_t count;
  uint32_t width;
  uint32_t is_listed;
};

struct ca_run {
  uint64_t start;
  int64_t stride;
};

/* A word whose values were copied to several places, which have none of other words. */
struct ca_copy {
  uint64_t word;
  uint64_t places;
};

/* A piece of a workspace: bytes of an object whose versions are named by their sources. The list is read from
 * the file that COMMANALYZER_WORKSPACE names: struct ca_workspace, then the pieces, sorted. */
struct ca_piece {
  uint32_t kind; /* of extent */
  uint32_t object;
  uint64_t depth;
  uint64_t first; /* bytes in the object */
  uint64_t last;
};

struct ca_workspace {
  uint64_t max_rows; /* beyond, no new lifetimes are named */
  uint64_t num_pieces;
  uint64_t ends_there; /* 1: the recording is not needed beyond max_rows, and ends */
};

/* A piece of program memory with a name. */
enum { CA_EXTENT_GLOBAL = 1, CA_EXTENT_HEAP, CA_EXTENT_STACK, CA_EXTENT_PART, CA_EXTENT_BLOCK };
/* The last two are without bytes: a pointer to here was made by the path `object`; the first blocks of a path, byte
 * `start` of its address space and `offset` bytes large. */
#define CA_LISTED_BLOCKS 64u
struct ca_extent {
  uint64_t start; /* address */
  uint64_t size;
  uint64_t offset; /* of its first byte in the object (heap: in the site's arena) */
  uint32_t object; /* index in the instrumenter's table of that kind (heap: a path of calls) */
  uint32_t kind;
  uint64_t depth; /* recursion depth of a stack extent */
};

/* A path of at least two calls that leads to an allocation: that of the outer calls, and the last call. Paths of
 * one call have its number in the instrumenter's table, these follow in the order of the section. */
struct ca_context {
  uint32_t outer;
  uint32_t call;
};
#define CA_NO_CONTEXT UINT32_MAX

/* The blocks that one path allocated, without those that came back to memory that had been freed; the section has
 * an entry per path, in the order of their numbers. */
struct ca_blocks {
  uint64_t first;  /* byte of the first one, as `offset` of extents */
  uint64_t size;   /* bytes of the largest one, as the program asked for them */
  uint64_t period; /* bytes from each one to the next, 0 where they differ */
  uint64_t count;
};

/* Table emitted by the instrumenter for the program's global variables. */
struct ca_global {
  void *start;
  uint64_t size;
  uint64_t object; /* its number; 1 above 32 bits: a constant, what lies there are literals */
};

/* Statistics in the trace's header. */
struct ca_statistics {
  uint64_t num_block_counters;
  uint64_t hash_collisions; /* rows that shared a hash and were merged */
  uint64_t unaligned_copies;
  uint64_t dropped_rows;      /* rows not recorded (out of memory) */
  uint64_t unnamed_lifetimes; /* of workspace words, beyond the limit of rows */
  uint64_t recorder_bytes;
  uint64_t peak_rss_bytes; /* of this process since exec, 0 if not known */
  uint64_t spilled_bytes;  /* columns that moved from memory to the trace while the program ran */
  uint64_t region_entries; /* how often the analysed region began, nested ones aside; 0 without regions */
};

#define CA_TRACE_MAGIC 0x3152544d4d4f43ull /* "COMMTR1" */
#define CA_NUM_SECTIONS 13u

/* The order of events: rows, and between them these marks; the last one is followed by a version and two halves of
 * a word. Only recordings with CA_ORDERED have one. */
#define CA_ORDER_INSIDE 0xffffffffu /* of the analysed region, as in the beginning */
#define CA_ORDER_OUTSIDE 0xfffffffeu
#define CA_ORDER_EARLIER 0xfffffffdu /* the next row reads an earlier version of a word */
#define CA_ORDER_VERSIONS 65535u     /* that are told apart */

/* First bytes of a trace. The magic is written last: a trace without it is truncated. */
struct ca_trace_header {
  uint64_t magic;
  uint64_t abi_version;
  uint64_t word_bytes;
  struct {
    uint64_t offset; /* bytes from the start of the file */
    uint64_t count;  /* elements */
  } sections[CA_NUM_SECTIONS];
  struct ca_statistics statistics;
};
/* Sections: cells, heads, labels (32-bit units), groups, runs, listed, extents, block counters, external calls,
 * copies, contexts, blocks, order (32-bit). */

/* Bits of ca_switched_off; commanalyzer/recording/abi.py says what they mean. */
#define CA_WITHOUT_MEMOISATION 1u
#define CA_WITHOUT_OUTCOMES 2u

/* ---- Tables that the instrumented module defines -------------------------------------------------------- */
#pragma GCC visibility push(hidden)
extern const struct ca_global ca_globals[];
extern const uint64_t ca_num_globals;
extern uint64_t ca_block_counters[];
extern const uint64_t ca_num_block_counters;
extern uint64_t ca_external_calls[];
extern const uint64_t ca_num_external_calls;
/* 1 inside the analysed region, 0 before it first begins, CA_OUTSIDE between and behind its executions; a constant 1
 * when there are no regions. It is added to counts: what happens outside is counted in the upper bits. */
extern uint64_t ca_active;
#define CA_OUTSIDE (1ull << 40)
#define CA_IS_ACTIVE (ca_active & 1)
extern const uint64_t ca_switched_off; /* CA_WITHOUT_*: mechanisms that are being measured */
extern const uint64_t ca_num_frames;
extern const uint64_t ca_num_calls; /* in paths of allocations, at least 1 */
extern uint32_t ca_context; /* path of a call to a function that hands out blocks */
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
