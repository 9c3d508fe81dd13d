package view

import "syscall"

// adviseHuge asks the system to back b, which is whole huge pages, with such.
// This is advice: where there are none b works as it is, and the error says
// nothing.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }

// madvPopulateWrite is MADV_POPULATE_WRITE, of Linux 5.14.
const madvPopulateWrite = 23

// prefault has the system provide b, which is whole pages. One that cannot does
// nothing, and the pages come when they are touched.
func prefault(b []byte) { _ = syscall.Madvise(b, madvPopulateWrite) }
