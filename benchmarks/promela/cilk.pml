/* The work-stealing queue of M. Frigo, C. E. Leiserson, K. H. Randall, The implementation of the Cilk-5 multithreaded language,
   1998 (the THE protocol): the worker pushes two tasks and pops two, thieves steal one each. No task is taken twice. */
#include "teetotal.h"
#define TASKS 2
byte head, tail;
bit mutex;
byte queue[TASKS];
ghost byte taken[3];

active proctype Worker() {
  byte h, t, i, task;
  bit got;
  do
  :: i == TASKS -> break
  :: else ->
     t = tail;
     queue[t] = t + 1;
     tail = t + 1;
     i++
  od;
  do
  :: i == 0 -> break
  :: else ->
     i--;
     got = 1;
     t = tail;
     if
     :: t == 0 -> break
     :: else -> skip
     fi;
     t--;
     tail = t;
     h = head;
     if
     :: h > t ->
        tail = t + 1;
        lock(mutex);
        tail = t;
        h = head;
        if
        :: h > t -> tail = t + 1; got = 0
        :: else -> skip
        fi;
        unlock(mutex)
     :: else -> skip
     fi;
     if
     :: got ->
        task = queue[t];
        taken[task]++;
        assert(taken[task] == 1)
     :: else -> break
     fi
  od
}

active [2] proctype Thief() {
  byte h, t, task;
  lock(mutex);
  h = head;
  head = h + 1;
  t = tail;
  if
  :: h + 1 > t -> head = h; unlock(mutex)
  :: else ->
     task = queue[h];
     unlock(mutex);
     taken[task]++;
     assert(taken[task] == 1)
  fi
}
