// How long loops stop when the caller wants it (Ctrl-C). Kernels know no Python: the binding says what to ask.
#pragma once

namespace lw {

// Asked about every 50 ms by the thread that called; it throws if the call shall stop.
using InterruptCheck = void (*)();
void set_interrupt_check(InterruptCheck check);

// The thread begins a call: it is asked for the first time 50 ms from now, so a short call never is.
void begin_call();

// For loops that may take longer than 50 ms. Throws if the caller wants to stop, or if the parallel loop that this thread
// works for has failed elsewhere. Costs 10 ns. Not inline: hot kernels of all instruction levels share it.
void check_interrupt();

}  // namespace lw
