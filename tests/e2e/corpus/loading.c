/* Loading a library fails twice: the second failure releases the message of the first inside dlopen. */
#include <dlfcn.h>
#include <stdio.h>

static int failures[3];

int main(void) {
  for (int i = 0; i < 3; i++)
    failures[i] = (i ? failures[i - 1] : 0) + (dlopen("lib-that-is-nowhere.so", RTLD_NOW) == 0);
  printf("%d %d %d\n", failures[0], failures[1], failures[2]);
  return 0;
}
