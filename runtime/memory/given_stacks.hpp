// Stacks that the program gives its threads (pthread_attr_setstack).
//
// Threads run on stacks of ours, so that what they do to the memory that they were given is left out. But it is theirs
// from their first step to their last: both change one word of it, by an event, so that the search looks for the end of
// that memory, and for others who are given it, in every order with them. It keeps its value: what lies there is
// nothing that anybody may rely on.
#pragma once

#include "process.hpp"

namespace teetotal::runtime {

void enter_given_stack(Thread& self);
void leave_given_stack(Thread& self);

// Of memory that ends: fails where it is the stack of a thread that has not left it.
void check_no_stack(Thread& self, std::uintptr_t begin, std::uintptr_t end, std::uintptr_t place);

}  // namespace teetotal::runtime
