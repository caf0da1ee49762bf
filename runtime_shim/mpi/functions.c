/* A function as a region: is one of that name on the stack? Names come from the symbol tables of the program.
 */
#define _GNU_SOURCE
#include "counter.h"

#include <ctype.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FRAMES 256
#define MAX_FUNCTIONS 64 /* overloads and clones */
#define MAX_NAME 1024

typedef struct {
  uintptr_t begin, end;
} code_range;

static const char *wanted;
static code_range functions[MAX_FUNCTIONS];
static int num_functions;

/* Fortran: name_ and __module_MOD_name_ of gfortran, _QPname and _QMmodulePname of flang. */
static int is_fortran_name(const char *symbol, size_t length) {
  const size_t want = strlen(wanted);
  if (length > want && symbol[length - 1] == '_')
    length--;
  if (length < want)
    return 0;
  const char *tail = symbol + length - want;
  for (size_t i = 0; i < want; i++)
    if (tolower((unsigned char)wanted[i]) != tail[i])
      return 0;
  const size_t before = length - want;
  return (before == 0 && symbol[length] == '_') || (before >= 5 && memcmp(tail - 5, "_MOD_", 5) == 0) ||
         (before >= 2 && memcmp(symbol, "_Q", 2) == 0 && tail[-1] == 'P');
}

/* Past the arguments of a template, which begin with I: what opens in them is closed by E. */
static const char *behind_template(const char *at) {
  int open = 0;
  do {
    if (isdigit((unsigned char)*at)) {
      char *name;
      const unsigned long length = strtoul(at, &name, 10);
      at = strnlen(name, length) == length ? name + length : name + strlen(name);
      continue;
    }
    open += (strchr("INLXJF", *at) != NULL) - (*at == 'E');
    at++;
  } while (open > 0 && *at);
  return at;
}

/* C++ (Itanium ABI): space::Class::name(arguments) is called by all of it before the arguments, or by its
 * last parts. */
static int is_cxx_name(const char *symbol) {
  char name[MAX_NAME] = "";
  size_t used = 0;
  if (strncmp(symbol, "_Z", 2) != 0)
    return 0;
  const char *at = symbol + 2;
  at += *at == 'N';
  at += strspn(at, "rVKROL");
  while (*at && *at != 'E') {
    if (*at == 'I') {
      at = behind_template(at);
    } else if (isdigit((unsigned char)*at)) {
      char *part;
      const unsigned long length = strtoul(at, &part, 10);
      if (strnlen(part, length) != length || used + length + 3 > sizeof name)
        return 0;
      used += (size_t)snprintf(name + used, sizeof name - used, "%s%.*s", used ? "::" : "", (int)length, part);
      at = part + length;
      if (symbol[2] != 'N')
        break;
    } else {
      return 0; /* operators, constructors, abbreviations */
    }
  }
  const size_t want = strlen(wanted);
  return used >= want && strcmp(name + used - want, wanted) == 0 &&
         (used == want || name[used - want - 1] == ':');
}

static int is_wanted(const char *symbol) {
  const size_t length = strcspn(symbol, "."); /* name.part.0, name.constprop.0 */
  return (length == strlen(wanted) && memcmp(symbol, wanted, length) == 0) || is_fortran_name(symbol, length) ||
         is_cxx_name(symbol);
}

static void read_symbols(const char *image, size_t size, uintptr_t base) {
  const Elf64_Ehdr *file = (const Elf64_Ehdr *)image;
  if (size < sizeof *file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
      file->e_ident[EI_CLASS] != ELFCLASS64 || file->e_shoff + file->e_shnum * sizeof(Elf64_Shdr) > size)
    return;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + file->e_shoff);
  for (int s = 0; s < file->e_shnum; s++) {
    if (sections[s].sh_type != SHT_SYMTAB || sections[s].sh_link >= file->e_shnum)
      continue;
    const Elf64_Shdr *names = &sections[sections[s].sh_link];
    if (sections[s].sh_offset + sections[s].sh_size > size || names->sh_offset + names->sh_size > size)
      continue;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(image + sections[s].sh_offset);
    for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols && num_functions < MAX_FUNCTIONS; i++) {
      const Elf64_Sym *symbol = &symbols[i];
      if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size && symbol->st_name < names->sh_size &&
          is_wanted(image + names->sh_offset + symbol->st_name))
        functions[num_functions++] =
            (code_range){base + symbol->st_value, base + symbol->st_value + symbol->st_size};
    }
  }
}

static int read_object(struct dl_phdr_info *object, size_t size, void *first) {
  (void)size;
  const int is_program = *(int *)first;
  *(int *)first = 0;
  const int file = open(is_program ? "/proc/self/exe" : object->dlpi_name, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0)
    return 0;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    void *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (image != MAP_FAILED) {
      read_symbols(image, (size_t)status.st_size, object->dlpi_addr);
      munmap(image, (size_t)status.st_size);
    }
  }
  close(file);
  return 0;
}

void ca_find_functions(const char *name) {
  int first = 1;
  wanted = name;
  if (!wanted || !*wanted)
    return;
  dl_iterate_phdr(read_object, &first);
}

int ca_is_inside(void) {
  if (!num_functions)
    return 0;
  void *frames[MAX_FRAMES];
  const int depth = backtrace(frames, MAX_FRAMES);
  for (int i = 0; i < depth; i++)
    for (int f = 0; f < num_functions; f++)
      if ((uintptr_t)frames[i] > functions[f].begin && (uintptr_t)frames[i] <= functions[f].end)
        return 1;
  return 0;
}
