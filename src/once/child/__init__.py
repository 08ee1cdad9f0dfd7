"""The command: started, listened to, signalled, frozen and reaped, and it cannot tell that it is wrapped.

A life of a command, and the file that tells each part:

    launch      fork and exec by hand, in the main thread, with every signal blocked meanwhile
    search      which file a name is, as shells answer it
    wiring      which of its descriptors are handed down and which are copied
    stream      one pipe from the command, and the `sink` it is written on to
    written     a file that the command writes itself, and whose end is read back
    bell        what ends a wait: signals, the end of a child, another thread
    group       all that has to be signalled, frozen or killed with it
    terminal    who has the terminal
    kernel      what only Linux can tell or do
    supervisor  the Child itself: one poll over all of this

Everything here runs in the main thread, save `Child.wake`. No subprocess: Popen tries a later file of the PATH when
the first has no `#!` line, reports 0 when somebody else has reaped, closes descriptors that were handed down on
purpose, and notices an end up to 50 ms late.
"""

from __future__ import annotations

from once.child.supervisor import Child, spawn
from once.command import Event, Exited, Signalled, Woken

__all__ = ["Child", "Event", "Exited", "Signalled", "Woken", "spawn"]
