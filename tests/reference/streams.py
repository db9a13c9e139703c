"""The hash that orders rows and the random stream of the resamples, from their published specifications."""

import numpy as np

MASK64 = (1 << 64) - 1

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _rotate(x, r):
    return ((x << r) | (x >> (64 - r))) & MASK64


def _round(lane, word):
    return _rotate((lane + word * P2) & MASK64, 31) * P1 & MASK64


def xxh64(data, seed=0):
    """XXH64 of bytes, after its published specification."""
    at, end = 0, len(data)
    if end >= 32:
        lanes = [(seed + P1 + P2) & MASK64, (seed + P2) & MASK64, seed, (seed - P1) & MASK64]
        while at + 32 <= end:
            for i in range(4):
                word = int.from_bytes(data[at + 8 * i:at + 8 * i + 8], "little")
                lanes[i] = _round(lanes[i], word)
            at += 32
        h = sum(_rotate(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18))) & MASK64
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * P1 + P4) & MASK64
    else:
        h = (seed + P5) & MASK64
    h = (h + end) & MASK64
    while at + 8 <= end:
        h = (_rotate(h ^ _round(0, int.from_bytes(data[at:at + 8], "little")), 27) * P1 + P4) & MASK64
        at += 8
    if at + 4 <= end:
        h = (_rotate(h ^ int.from_bytes(data[at:at + 4], "little") * P1 & MASK64, 23) * P2 + P3) & MASK64
        at += 4
    for byte in data[at:]:
        h = _rotate(h ^ byte * P5 & MASK64, 11) * P1 & MASK64
    h = (h ^ (h >> 33)) * P2 & MASK64
    h = (h ^ (h >> 29)) * P3 & MASK64
    return h ^ (h >> 32)


def image_key(image, seed):
    return xxh64(image.encode(), seed & MASK64)


def philox4x32(counter, key):
    """Philox 4x32-10 of Salmon et al. 2011: counter (n, 4) and key (2,), uint32 values, to (n, 4)."""
    low32 = np.uint64(0xFFFFFFFF)
    c = [counter[:, i].astype(np.uint64) for i in range(4)]
    k = [int(key[0]), int(key[1])]
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), p1 & low32,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), p0 & low32]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, axis=1)


def stream_words(seed, purpose, item, count):
    """The first `count` numbers of the stream (seed, purpose, item) as (n, 2): their low and high 32 bits."""
    key = xxh64(purpose.encode(), seed & MASK64)
    blocks = np.arange((count + 1) // 2, dtype=np.uint64)
    counter = np.stack([blocks & np.uint64(0xFFFFFFFF), blocks >> np.uint64(32),
                        np.full(len(blocks), item & 0xFFFFFFFF, np.uint64),
                        np.full(len(blocks), item >> 32, np.uint64)], axis=1)
    return philox4x32(counter, (key & 0xFFFFFFFF, key >> 32)).reshape(-1, 2)[:count]


def stream_below(seed, purpose, item, count, bound):
    """The first `count` numbers below `bound` (< 2^32, one for all or one each) of the stream."""
    words = stream_words(seed, purpose, item, count)
    # floor((high 2^32 + low) bound / 2^64), in two steps that fit 64 bits
    low, high, b = words[:, 0], words[:, 1], np.asarray(bound, np.uint64)
    return ((high * b + (low * b >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


def stream_uniform(seed, purpose, item, count):
    """The first `count` numbers of the stream on (0, 1): odd multiples of 2^-53."""
    words = stream_words(seed, purpose, item, count)
    return ((words[:, 1] << np.uint64(20) | words[:, 0] >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0 ** -52
