/* The alternating bit protocol (Bartlett, Scantlebury, Wilkinson, 1969) with shared variables for channels: each side
   writes its word again and again, and the other side may read it any number of times.
   A message is one word, data and bit together, so that no fence is needed. With data and bit in two variables PSO may
   show the new bit with the old data, and two sfences are needed. */
#include "teetotal.h"
byte message;   /* 2 * data + bit */
bit ack = 1;    /* the bit last acknowledged */

active proctype Sender() {
  byte data;
  bit b;
  do
  :: message = 2 * data + b;
     if
     :: ack == b -> data = (data + 1) % 3; b = 1 - b
     :: else -> skip
     fi
  od
}

active proctype Receiver() {
  byte word, expected;
  bit b;
  do
  :: word = message;
     if
     :: (word & 1) == b ->
        assert((word >> 1) == expected);
        expected = (expected + 1) % 3;
        ack = b;
        b = 1 - b
     :: else -> ack = 1 - b
     fi
  od
}
