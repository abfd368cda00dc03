"""Job objects: starts processes that end with everything they started, on Windows.

A process is made suspended, put into a job that kills all in it with its last handle, and then
goes on; what it starts is in the job, too. This program has the only handle. The numbers and
structures are those of ``winnt.h``.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMITS = 9
_SUSPENDED = 0x4
_SET_QUOTA_TERMINATE_RESUME = 0x0100 | 0x0001 | 0x0800
_ENDED_BY_US = 1
_PATIENCE = 2.0  # s


class BasicLimits(ctypes.Structure):
    """``JOBOBJECT_BASIC_LIMIT_INFORMATION``."""

    _fields_ = (
        ("per_process_user_time", ctypes.c_int64),
        ("per_job_user_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """``JOBOBJECT_EXTENDED_LIMIT_INFORMATION``."""

    _fields_ = (
        ("basic", BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


if sys.platform == "win32":
    from ctypes import wintypes

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CreateJobObjectW.restype = wintypes.HANDLE
    _kernel.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
    _kernel.SetInformationJobObject.argtypes = (
        *(wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD),
    )
    _kernel.OpenProcess.restype = wintypes.HANDLE
    _kernel.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    _kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    _kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
    _kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
    _resume = ctypes.WinDLL("ntdll").NtResumeProcess
    _resume.argtypes = (wintypes.HANDLE,)

    def start_in_job(
        argv: Sequence[str] | str,
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
    ) -> JobProcess:
        """Start a process in a job of its own; raises OSError if that fails."""
        job = _job()
        try:
            child = subprocess.Popen(
                argv,
                cwd=folder,
                env=dict(environment),
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                creationflags=subprocess.CREATE_NEW_PROCESS_GROUP
                | subprocess.CREATE_NO_WINDOW
                | _SUSPENDED,
            )
            try:
                _put_in(job, child.pid)
            except BaseException:
                child.kill()
                child.wait()
                raise
        except BaseException:
            _kernel.CloseHandle(job)
            raise
        return JobProcess(child.pid, child.wait, job)

    def keep_in_job(pid: int, wait: Callable[[], int]) -> JobProcess:
        """Put a process that runs into a job of its own; ``wait`` blocks until its end, and
        returns its code. Raises OSError."""
        job = _job()
        try:
            _put_in(job, pid)
        except BaseException:
            _kernel.CloseHandle(job)
            raise
        return JobProcess(pid, wait, job)

    def _job() -> int:
        job = _kernel.CreateJobObjectW(None, None)
        if not job:
            raise ctypes.WinError(ctypes.get_last_error())
        limits = ExtendedLimits()
        limits.basic.flags = KILL_ON_JOB_CLOSE
        size = ctypes.sizeof(limits)
        if not _kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), size):
            error = ctypes.WinError(ctypes.get_last_error())
            _kernel.CloseHandle(job)
            raise error
        return job

    def _put_in(job: int, pid: int) -> None:
        """Put a process into a job, and let it go on if it is suspended."""
        process = _kernel.OpenProcess(_SET_QUOTA_TERMINATE_RESUME, False, pid)
        if not process:
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            if not _kernel.AssignProcessToJobObject(job, process):
                raise ctypes.WinError(ctypes.get_last_error())
            if _resume(process):
                raise OSError("The process cannot be resumed.")
        finally:
            _kernel.CloseHandle(process)

    class JobProcess:
        """See ``KeptProcess``."""

        def __init__(self, pid: int, wait: Callable[[], int], job: int) -> None:
            self.pid = pid
            self.exited: Future[int] = Future()
            self.exited.set_running_or_notify_cancel()  # whoever waits for it may be cancelled
            self._job: int | None = job
            self._lock = threading.Lock()
            self._waiting = threading.Thread(target=self._watch, args=(wait,), daemon=True)
            self._waiting.start()

        def end(self) -> None:
            with self._lock:
                job, self._job = self._job, None
            if job is not None:
                _kernel.TerminateJobObject(job, _ENDED_BY_US)
                _kernel.CloseHandle(job)
            self._waiting.join(_PATIENCE)

        def _watch(self, wait: Callable[[], int]) -> None:
            self.exited.set_result(wait())
