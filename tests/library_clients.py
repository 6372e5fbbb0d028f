"""Small clients of libraries that people use, as Debian packages them: two threads, an operation or two each.

``header`` tells whether the library is installed. ``text`` has a ``main`` with assertions that hold on SC and TSO.
``slow``: for ``make fuzz`` alone. ``weakened``: a file of the library, a pattern in it and what to put in its place, so
that it is not robust under ``model``: a fence or an order belongs beside that place then, and not into a helper that
everybody calls. ``close``: so many lines from that place is beside it. ``in_client``: the load that must wait is the
client's own, so the fence may stand there.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from teetotal.answers.events import ModelName

TWO = """
#include <assert.h>
#include <pthread.h>
static void *first(void *), *second(void *);
#define MAIN(before, after) int main(void) { pthread_t a, b; before; pthread_create(&a, 0, first, 0); \\
  pthread_create(&b, 0, second, 0); pthread_join(a, 0); pthread_join(b, 0); after; return 0; }
"""


class Weakened(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    old: str
    new: str
    model: ModelName
    close: int = 8
    in_client: bool = False


class Client(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    header: str
    text: str
    language: Literal["c", "c++"] = "c++"
    flags: tuple[str, ...] = ()
    slow: bool = False
    weakened: Weakened | None = None


_RING = """
#include <stdio.h>
#include <string.h>
#include <ck_ring.h>
ck_ring_t ring; ck_ring_buffer_t buffer[4]; int data;
static void *first(void *p) { data = 7; assert(ck_ring_enqueue_spsc(&ring, buffer, &data)); return 0; }
static void *second(void *p) {
  void *got = 0; if (ck_ring_dequeue_spsc(&ring, buffer, &got)) assert(*(int *)got == 7); return 0; }
MAIN(ck_ring_init(&ring, 4), )
"""
_STACK = """
#include <stdio.h>
#include <ck_stack.h>
ck_stack_t stack; struct item { ck_stack_entry_t link; int data; } one;
static void *first(void *p) { one.data = 7; ck_stack_push_upmc(&stack, &one.link); return 0; }
static void *second(void *p) { ck_stack_entry_t *got = ck_stack_pop_upmc(&stack);
  if (got) assert(((struct item *)got)->data == 7); return 0; }
MAIN(ck_stack_init(&stack), )
"""
_LOCK = """
#include <stdio.h>
#include <ck_spinlock.h>
ck_spinlock_fas_t lock = CK_SPINLOCK_FAS_INITIALIZER; int inside;
static void *first(void *p) { ck_spinlock_fas_lock(&lock);
  assert(++inside == 1); --inside; ck_spinlock_fas_unlock(&lock); return 0; }
static void *second(void *p) { return first(p); }
MAIN(, )
"""
_BRLOCK = """
#include <stdio.h>
#include <ck_brlock.h>
ck_brlock_t lock = CK_BRLOCK_INITIALIZER; ck_brlock_reader_t reader; int inside;
static void *first(void *p) { ck_brlock_read_lock(&lock, &reader);
  assert(!ck_pr_load_int(&inside)); ck_brlock_read_unlock(&reader); return 0; }
static void *second(void *p) { ck_brlock_write_lock(&lock);
  ck_pr_store_int(&inside, 1); ck_pr_store_int(&inside, 0); ck_brlock_write_unlock(&lock); return 0; }
MAIN(ck_brlock_read_register(&lock, &reader), )
"""
_EPOCH = """
#include <stdio.h>
#include <ck_epoch.h>
void _ck_epoch_addref(ck_epoch_record_t *r, ck_epoch_section_t *s) {}  /* the library's, for sections, which are not used */
bool _ck_epoch_delref(ck_epoch_record_t *r, ck_epoch_section_t *s) { return false; }
ck_epoch_t epoch; ck_epoch_record_t record; int old = 7, fresh = 7, *shared = &old;
static void *first(void *p) { ck_epoch_begin(&record, NULL);
  assert(ck_pr_load_int(ck_pr_load_ptr(&shared)) == 7); ck_epoch_end(&record, NULL); return 0; }
static void *second(void *p) { ck_pr_store_ptr(&shared, &fresh); ck_pr_fence_memory();
  if (!ck_pr_load_uint(&record.active)) ck_pr_store_int(&old, 0); return 0; }
MAIN(record.global = &epoch, )
"""
_FIFO = """
#include <stdio.h>
#include <ck_fifo.h>
ck_fifo_spsc_t fifo; ck_fifo_spsc_entry_t stub, entry; int data;
static void *first(void *p) { data = 7; ck_fifo_spsc_enqueue(&fifo, &entry, &data); return 0; }
static void *second(void *p) { int *got; if (ck_fifo_spsc_dequeue(&fifo, &got)) assert(*got == 7); return 0; }
MAIN(ck_fifo_spsc_init(&fifo, &stub), )
"""
_FIFO_MPMC = """
#include <stdio.h>
#include <ck_fifo.h>
ck_fifo_mpmc_t fifo; ck_fifo_mpmc_entry_t stub, entry; int data;
static void *first(void *p) { data = 7; ck_fifo_mpmc_enqueue(&fifo, &entry, &data); return 0; }
static void *second(void *p) { int *got; ck_fifo_mpmc_entry_t *garbage;
  if (ck_fifo_mpmc_dequeue(&fifo, &got, &garbage)) assert(*got == 7); return 0; }
MAIN(ck_fifo_mpmc_init(&fifo, &stub), )
"""
_CK = {"ring": _RING, "stack": _STACK, "spinlock": _LOCK}
_URCU = """
#include <urcu/urcu-FLAVOUR.h>
#include <stdlib.h>
int *shared;
static void *first(void *p) { urcu_FLAVOUR_register_thread(); urcu_FLAVOUR_read_lock();
  int *got = rcu_dereference(shared); assert(*got == 7);
  urcu_FLAVOUR_read_unlock(); urcu_FLAVOUR_unregister_thread(); return 0; }
static void *second(void *p) { int *next = malloc(4); *next = 7; rcu_xchg_pointer(&shared, next); return 0; }
MAIN(shared = malloc(4); *shared = 7, )
"""

CLIENTS = [
    *(Client(name=f"ck-{name}", header="ck_ring.h", language="c", text=text) for name, text in _CK.items()),
    *(
        Client(
            name=f"ck-{name}-builtins", header="ck_ring.h", language="c", flags=("-DCK_USE_CC_BUILTINS=1",), text=text
        )
        for name, text in _CK.items()
    ),
    Client(
        name="ck-brlock",
        header="ck_brlock.h",
        language="c",
        text=_BRLOCK,
        weakened=Weakened(
            file="ck_brlock.h",
            old=r"ck_pr_fas_uint\(&reader->n_readers, 1\)",
            new="ck_pr_store_uint(&reader->n_readers, 1)",
            model="tso",
            close=17,  # the load that must wait stands behind the same for other processors
        ),
    ),
    Client(
        name="ck-epoch",
        header="ck_epoch.h",
        language="c",
        text=_EPOCH,
        weakened=Weakened(
            file="ck_epoch.h",
            old=r"ck_pr_fas_uint\(&record->active, 1\)",
            new="ck_pr_store_uint(&record->active, 1)",
            model="tso",
            in_client=True,
        ),
    ),
    Client(
        name="ck-fifo-spsc",
        header="ck_fifo.h",
        language="c",
        flags=("-DCK_USE_CC_BUILTINS=1",),
        text=_FIFO,
        weakened=Weakened(
            file="ck_fifo.h",
            old=r"\tck_pr_fence_store\(\);(\s+ck_pr_store_ptr\(&fifo->tail->next)",
            new=r"\1",
            model="pso",
        ),
    ),
    Client(name="ck-fifo-mpmc", header="ck_fifo.h", language="c", text=_FIFO_MPMC),
    Client(
        name="boost-spsc_queue",
        header="boost/lockfree/spsc_queue.hpp",
        slow=True,
        text="""
#include <boost/lockfree/spsc_queue.hpp>
boost::lockfree::spsc_queue<int, boost::lockfree::capacity<2>> queue;
static void *first(void *) { assert(queue.push(7)); return 0; }
static void *second(void *) { int got; if (queue.pop(got)) assert(got == 7); return 0; }
MAIN(, )
""",
        weakened=Weakened(
            file="boost/lockfree/spsc_queue.hpp",
            old=r"write_index_\.store\(next, memory_order_release\)",
            new="write_index_.store(next, memory_order_relaxed)",
            model="pso",
        ),
    ),
    Client(
        name="boost-queue",
        header="boost/lockfree/queue.hpp",
        slow=True,
        text="""
#include <boost/lockfree/queue.hpp>
boost::lockfree::queue<int, boost::lockfree::capacity<2>> queue;
static void *first(void *) { assert(queue.push(7)); return 0; }
static void *second(void *) { int got; if (queue.pop(got)) assert(got == 7); return 0; }
MAIN(, )
""",
    ),
    Client(
        name="boost-stack",
        header="boost/lockfree/stack.hpp",
        text="""
#include <boost/lockfree/stack.hpp>
boost::lockfree::stack<int, boost::lockfree::capacity<2>> stack;
static void *first(void *) { assert(stack.push(7)); return 0; }
static void *second(void *) { int got; if (stack.pop(got)) assert(got == 7); return 0; }
MAIN(, )
""",
    ),
    *(
        Client(
            name=f"urcu-{flavour}",
            header=f"urcu/urcu-{flavour}.h",
            language="c",
            flags=(f"-lurcu-{flavour}",),
            text=_URCU.replace("FLAVOUR", flavour),
        )
        for flavour in ("memb", "qsbr", "bp")
    ),
    Client(
        name="tbb-concurrent_queue",
        header="tbb/concurrent_queue.h",
        flags=("-ltbb",),
        text="""
#include <tbb/concurrent_queue.h>
tbb::concurrent_queue<int> queue;
static void *first(void *) { queue.push(7); return 0; }
static void *second(void *) { int got; if (queue.try_pop(got)) assert(got == 7); return 0; }
MAIN(, )
""",
    ),
    Client(
        name="glib-atomic",
        header="glib-2.0/glib.h",
        language="c",
        flags=("-I/usr/include/glib-2.0", "-I/usr/lib/x86_64-linux-gnu/glib-2.0/include", "-lglib-2.0"),
        text="""
#include <glib.h>
int data, flag;
static void *first(void *p) { data = 7; g_atomic_int_set(&flag, 1); return 0; }
static void *second(void *p) { if (g_atomic_int_get(&flag)) assert(data == 7); return 0; }
MAIN(, )
""",
    ),
    Client(
        name="glib-async-queue",
        header="glib-2.0/glib.h",
        language="c",
        flags=("-I/usr/include/glib-2.0", "-I/usr/lib/x86_64-linux-gnu/glib-2.0/include", "-lglib-2.0"),
        text="""
#include <glib.h>
GAsyncQueue *queue; int data;
static gpointer first(gpointer p) { data = 7; g_async_queue_push(queue, &data); return 0; }
static gpointer second(gpointer p) { int *got = g_async_queue_try_pop(queue); if (got) assert(*got == 7); return 0; }
int main(void) { queue = g_async_queue_new();
  GThread *a = g_thread_new("first", first, 0), *b = g_thread_new("second", second, 0);
  g_thread_join(a); g_thread_join(b); return 0; }
""",
    ),
    Client(
        name="moodycamel-readerwriterqueue",
        header="readerwriterqueue/readerwriterqueue.h",
        slow=True,
        text="""
#include <readerwriterqueue/readerwriterqueue.h>
moodycamel::ReaderWriterQueue<int> queue(1);
static void *first(void *) { assert(queue.try_enqueue(7)); return 0; }
static void *second(void *) { int got; if (queue.try_dequeue(got)) assert(got == 7); return 0; }
MAIN(, )
""",
        weakened=Weakened(
            file="readerwriterqueue/readerwriterqueue.h",
            old=r"\tfence\(memory_order_release\);(\s+tailBlock_->tail = )",
            new=r"\1",
            model="pso",
        ),
    ),
    Client(
        name="moodycamel-concurrentqueue",
        header="concurrentqueue/concurrentqueue.h",
        text="""
#include <concurrentqueue/concurrentqueue.h>
moodycamel::ConcurrentQueue<int> queue(1);
static void *first(void *) { assert(queue.enqueue(7)); return 0; }
static void *second(void *) { int got; if (queue.try_dequeue(got)) assert(got == 7); return 0; }
MAIN(, )
""",
    ),
    Client(
        name="xenium-chase-lev",
        header="xenium/chase_work_stealing_deque.hpp",
        flags=("-std=c++17",),
        text="""
#include <xenium/chase_work_stealing_deque.hpp>
int items[2]; xenium::chase_work_stealing_deque<int, xenium::policy::capacity<4>> deque; int *taken, *stolen[2];
static void *first(void *) { if (!deque.try_pop(taken)) taken = 0; return 0; }
static void *second(void *) { for (int i = 0; i < 2; i++) if (!deque.try_steal(stolen[i])) stolen[i] = 0; return 0; }
MAIN(deque.try_push(&items[0]); deque.try_push(&items[1]), assert(!taken || (taken != stolen[0] && taken != stolen[1])))
""",
        weakened=Weakened(
            file="xenium/chase_work_stealing_deque.hpp",
            old=r"bottom\.store\(b, std::memory_order_seq_cst\)",
            new="bottom.store(b, std::memory_order_relaxed)",
            model="tso",
        ),
    ),
    Client(
        name="xenium-vyukov",
        header="xenium/vyukov_bounded_queue.hpp",
        flags=("-std=c++17",),
        text="""
#include <xenium/vyukov_bounded_queue.hpp>
xenium::vyukov_bounded_queue<int> queue(2);
static void *first(void *) { assert(queue.try_push(7)); return 0; }
static void *second(void *) { int got; if (queue.try_pop(got)) assert(got == 7); return 0; }
MAIN(, )
""",
        weakened=Weakened(
            file="xenium/vyukov_bounded_queue.hpp",
            old=r"c->sequence\.store\(pos \+ 1, std::memory_order_release\)",
            new="c->sequence.store(pos + 1, std::memory_order_relaxed)",
            model="pso",
        ),
    ),
    Client(
        name="atomic_queue",
        header="atomic_queue/atomic_queue.h",
        flags=("-std=c++17",),
        text="""
#include <atomic_queue/atomic_queue.h>
int data; atomic_queue::AtomicQueue2<int *, 2> queue;
static void *first(void *) { data = 7; assert(queue.try_push(&data)); return 0; }
static void *second(void *) { int *got; if (queue.try_pop(got)) assert(*got == 7); return 0; }
MAIN(, )
""",
        weakened=Weakened(
            file="atomic_queue/atomic_queue.h",
            old=r"state\.store\(STORED, R\)",
            new="state.store(STORED, X)",
            model="pso",
        ),
    ),
]
