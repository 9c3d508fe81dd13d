package view

import "syscall"

// adviseHuge asks the system to back b, which is whole huge pages, with such.
// This is advice: where there are none b works as it is, and the error says
// nothing.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
