/* Runs a stream of arrays through a pipeline or task pool of real threads; prints seconds per element.
 *
 * Arguments: pattern (tpool, pipe), threads of the pool, size, elements, different ones of these, names of tasks.
 * Elements go through queues of pointers under a lock, as in the task pools and pipelines of the paper. The clock
 * starts when all threads are there. Tasks are not optimised: vectors of integers would be added at the speed of
 * memory, in less time than an element takes to be handed over. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void task_fn(int *, size_t);
#pragma clang optimize off
static void nop(int *a, size_t n) { (void)a, (void)n; }
static void inc(int *a, size_t n) {
    for (size_t i = 0; i < n; i++) a[i]++;
}
static int order(const void *a, const void *b) {
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}
static void sort(int *a, size_t n) { qsort(a, n, sizeof *a, order); }
#pragma clang optimize on

typedef struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int **items;
    size_t first, last;
    int is_closed;
} queue;

static void put(queue *q, int *item) {
    pthread_mutex_lock(&q->lock);
    q->items[q->last++] = item;
    pthread_cond_signal(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

static int *take(queue *q) {
    pthread_mutex_lock(&q->lock);
    while (q->first == q->last && !q->is_closed) pthread_cond_wait(&q->filled, &q->lock);
    int *item = q->first == q->last ? NULL : q->items[q->first++];
    pthread_mutex_unlock(&q->lock);
    return item;
}

static void close_queue(queue *q) {
    pthread_mutex_lock(&q->lock);
    q->is_closed = 1;
    pthread_cond_broadcast(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

static size_t n, elements;
static queue *new_queue(void) {
    queue *q = calloc(1, sizeof *q);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, NULL);
    q->items = calloc(elements, sizeof *q->items);
    return q;
}

typedef struct stage {
    task_fn *task;
    queue *in, *out;
} stage;

static pthread_barrier_t ready;

static void *worker(void *argument) {
    stage *s = argument;
    pthread_barrier_wait(&ready);
    for (int *item; (item = take(s->in));) {
        s->task(item, n);
        put(s->out, item);
    }
    return NULL;
}

static task_fn *named(const char *name) {
    return !strcmp(name, "nop") ? nop : !strcmp(name, "inc") ? inc : !strcmp(name, "qsort") ? sort : NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    int is_pipe = !strcmp(argv[1], "pipe"), threads = atoi(argv[2]);
    n = strtoull(argv[3], NULL, 10), elements = strtoull(argv[4], NULL, 10);
    size_t distinct = strtoull(argv[5], NULL, 10);
    int stages = is_pipe ? argc - 6 : 1, count = is_pipe ? stages : threads;
    queue **queues = malloc((size_t)(stages + 1) * sizeof *queues);
    for (int k = 0; k <= stages; k++) queues[k] = new_queue();
    uint64_t state = 88172645463325252u;
    for (size_t e = 0; e < elements; e++) {
        if (e >= distinct) {
            put(queues[0], queues[0]->items[e % distinct]);
            continue;
        }
        int *item = malloc(n * sizeof *item);
        for (size_t i = 0; i < n; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            item[i] = (int)(state >> 33);
        }
        put(queues[0], item);
    }
    close_queue(queues[0]);
    stage *own = malloc((size_t)count * sizeof *own);
    pthread_t *ids = malloc((size_t)count * sizeof *ids);
    pthread_barrier_init(&ready, NULL, (unsigned)count + 1);
    for (int k = 0; k < count; k++) {
        int at = is_pipe ? k : 0;
        own[k] = (stage){named(argv[6 + at]), queues[at], queues[at + 1]};
        if (!own[k].task) return 2;
        pthread_create(&ids[k], NULL, worker, &own[k]);
    }
    pthread_barrier_wait(&ready);
    double start = now();
    for (int k = 0; k < count; k++) {
        pthread_join(ids[k], NULL);
        if (is_pipe) close_queue(queues[k + 1]);
    }
    printf("%.9e\n", (now() - start) / (double)elements);
    return 0;
}
