/* L. Lamport, A new solution of Dijkstra's concurrent programming problem, 1974: the bakery, two processes, each entering once. */
#include "teetotal.h"
#define other (1 - _pid)
bit choosing[2];
byte number[2];

active [2] proctype P() {
  byte mine, his;
  choosing[_pid] = 1;
  his = number[other];
  mine = 1 + his;
  number[_pid] = mine;
  choosing[_pid] = 0;
  choosing[other] == 0;
  do
  :: his = number[other];
     if
     :: his == 0 || mine < his || (mine == his && _pid < other) -> break
     :: else -> skip
     fi
  od;
cs:
  skip;
  number[_pid] = 0
}

forbidden(mutex, P[0]@cs && P[1]@cs)
