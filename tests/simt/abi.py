"""The structures that Python and the runtime library share: entry.h, launch.h, findings.h."""

from __future__ import annotations

import ctypes


class RawParameter(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char),
        ("is_pointer", ctypes.c_bool),
        ("is_const", ctypes.c_bool),
        ("scalar_size", ctypes.c_int),
        ("size", ctypes.c_int),
    )


class RawEntry(ctypes.Structure):
    """A kernel; the fields follow, since one of them points to another entry."""


RawEntry._fields_ = (
    ("name", ctypes.c_char_p),
    ("parameter_names", ctypes.c_char_p),
    ("max_threads", ctypes.c_int),
    ("num_parameters", ctypes.c_int),
    ("parameters", ctypes.POINTER(RawParameter)),
    ("run", ctypes.c_void_p),
    ("next", ctypes.POINTER(RawEntry)),
)


class RawRegion(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("begin", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("element", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
    )


WRITABLE, SHARED, THREAD_LOCAL, IN_IMAGE = 1, 2, 4, 8  # flags of a region


class RawRequest(ctypes.Structure):
    _fields_ = (
        ("entry", ctypes.POINTER(RawEntry)),
        ("args", ctypes.POINTER(ctypes.c_void_p)),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("timeout", ctypes.c_double),
        ("order", ctypes.c_int32),
        ("num_workers", ctypes.c_int32),
        ("regions", ctypes.POINTER(RawRegion)),
        ("num_regions", ctypes.c_uint64),
        ("first_block", ctypes.c_uint64),
        ("num_blocks", ctypes.c_uint64),
        ("arena", ctypes.c_uint64),
        ("arena_size", ctypes.c_uint64),
    )


class RawFinding(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char_p),
        ("site", ctypes.c_uint64),
        ("other_site", ctypes.c_uint64),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
        ("count", ctypes.c_uint64),
        ("text", ctypes.c_char * 360),
    )
