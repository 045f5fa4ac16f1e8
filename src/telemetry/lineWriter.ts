import { constants, fstatSync, openSync, readFileSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** Bytes of lines that one thread keeps while the reader takes none. */
const BUFFER_BYTES = 1024 * 1024
/** How often a thread with buffered lines checks whether the reader takes bytes again. */
const RETRY_MS = 50
/** At the end of a thread: how long a reader may take no byte before what is buffered is lost. */
const FLUSH_PATIENCE_MS = 250
/** At the end of a thread: how long it waits for a slow reader altogether. */
const FLUSH_WAIT_MS = 3_000
/** Longest wait for another thread that is within its write of a line; such a write does not block. */
const TURN_WAIT_MS = 1
/** A thread that has started a line and did not try to continue for so long has died. */
const DEAD_AFTER_SECONDS = 10

/** Errors that pass: the pipe (or the disk) is full. */
const FULL = new Set(['EAGAIN', 'ENOSPC'])

/** Environment data of the process that all threads inherit: {@link TURN}, {@link DROPPED}. */
const SHARED = 'coind.log'
/** 0, or the second in which the thread that writes a line has last tried to: a line's parts must follow one another */
const TURN = 0
/** lines that all threads have dropped */
const DROPPED = 1

/** Returns how many lines all threads of this process have dropped. */
export function droppedLines(): number {
  return Atomics.load(shared(), DROPPED)
}

function shared(): Int32Array {
  const existing = getEnvironmentData(SHARED)
  if (existing instanceof SharedArrayBuffer) return new Int32Array(existing)
  const created = new SharedArrayBuffer(8)
  setEnvironmentData(SHARED, created)
  return new Int32Array(created)
}

interface LineWriter {
  /** @param importance the more, the later the line is dropped */
  write(line: string, importance: number): void
  /** Writes what is buffered as long as the reader takes it, for the end of the thread: a line that was begun is given up after it. */
  flush(): void
}

/**
 * Writes whole lines to a descriptor that other threads write lines to as well, and never waits for its reader. While that takes
 * nothing, lines are buffered; where the buffer is full, the least important ones are dropped and counted.
 * @param onDropped called with the number of dropped lines when all buffered ones are written; it may write a line
 */
export function createLineWriter(
  fd: number,
  onDropped: (count: number) => void,
  bufferBytes = BUFFER_BYTES,
): LineWriter {
  const descriptor = openNonBlocking(fd)
  const state = shared()
  const buffer = createLineBuffer(bufferBytes)
  /** what is left of a line that was written in part; this thread has the turn until it is written */
  let rest: Uint8Array | undefined
  /** what this thread has put into {@link TURN} */
  let turn = 0
  let dropped = 0
  let timer: NodeJS.Timeout | undefined

  const drop = (count: number): void => {
    dropped += count
    Atomics.add(state, DROPPED, count)
  }

  /** @returns whether this thread may write a line */
  const takeTurn = (): boolean => {
    const now = seconds()
    let holder = Atomics.compareExchange(state, TURN, 0, now)
    if (holder !== 0) {
      Atomics.wait(state, TURN, holder, TURN_WAIT_MS)
      holder = Atomics.compareExchange(state, TURN, 0, now)
    }
    if (holder !== 0) {
      if (now - holder < DEAD_AFTER_SECONDS || Atomics.compareExchange(state, TURN, holder, now) !== holder)
        return false
      // Ends the line that the dead thread has begun.
      rest = Buffer.from('\n')
    }
    turn = now
    return true
  }

  /** @returns whether this thread still has its turn: another one may have taken it for dead */
  const keepTurn = (): boolean => {
    const now = seconds()
    const hasTurn = Atomics.compareExchange(state, TURN, turn, now) === turn
    turn = now
    return hasTurn
  }

  const endTurn = (): void => {
    if (Atomics.compareExchange(state, TURN, turn, 0) === turn) Atomics.notify(state, TURN)
  }

  /** @returns whether all of `rest` is written */
  const writeRest = (): boolean => {
    while (rest !== undefined) {
      const written = tryWrite(descriptor, rest)
      if (written === 0) return false
      rest = written === rest.length ? undefined : rest.subarray(written)
    }
    return true
  }

  /** @returns whether the line is written or at least started; if not, no byte is written */
  const writeLine = (bytes: Uint8Array): boolean => {
    if (!takeTurn()) return false
    if (!writeRest()) return false
    const written = tryWrite(descriptor, bytes)
    if (written > 0 && written < bytes.length) {
      rest = bytes.subarray(written)
      if (!writeRest()) return true
    }
    endTurn()
    return written > 0
  }

  /** Writes buffered lines until the reader takes no more. */
  const drain = (): void => {
    if (rest !== undefined) {
      if (!keepTurn()) {
        rest = undefined
        drop(1)
      } else if (writeRest()) {
        endTurn()
      }
    }
    while (rest === undefined) {
      const line = buffer.first()
      if (line === undefined) break
      if (!writeLine(line)) return
      buffer.removeFirst()
    }
    if (rest === undefined && dropped > 0) {
      const count = dropped
      dropped = 0
      onDropped(count)
    }
  }

  const isIdle = (): boolean => rest === undefined && buffer.first() === undefined && dropped === 0

  const retryLater = (): void => {
    if (timer !== undefined || isIdle()) return
    timer = setTimeout(() => {
      timer = undefined
      drain()
      retryLater()
    }, RETRY_MS).unref()
  }

  const flush = (): void => {
    let idleMs = 0
    let waitedMs = 0
    let before = pendingBytes()
    while (!isIdle() && idleMs < FLUSH_PATIENCE_MS && waitedMs < FLUSH_WAIT_MS) {
      drain()
      if (isIdle()) break
      const after = pendingBytes()
      const ms = pause()
      waitedMs += ms
      idleMs = after < before ? 0 : idleMs + ms
      before = after
    }
    if (rest !== undefined) {
      rest = undefined
      endTurn()
    }
  }

  const pendingBytes = (): number => buffer.bytes + (rest?.length ?? 0)

  process.on('exit', flush)
  return {
    write: (line, importance) => {
      const bytes = Buffer.from(line)
      if (!isIdle() || !writeLine(bytes)) drop(buffer.add(bytes, importance))
      retryLater()
    },
    flush,
  }
}

/** Creates a buffer of lines in order, up to a number of bytes. */
function createLineBuffer(limit: number) {
  interface Line {
    readonly bytes: Uint8Array
    readonly order: number
  }
  /** by importance, each in order */
  const queues = new Map<number, Line[]>()
  let bytes = 0
  let added = 0

  const firstQueue = (): Line[] | undefined => {
    let first: Line[] | undefined
    for (const queue of queues.values()) {
      if (queue.length > 0 && (first === undefined || queue[0]!.order < first[0]!.order)) first = queue
    }
    return first
  }

  /** The queue of the least important lines that are less important than `importance`. */
  const leastQueue = (importance: number): Line[] | undefined => {
    let least: number | undefined
    for (const [level, queue] of queues) {
      if (queue.length > 0 && level < importance && (least === undefined || level < least)) least = level
    }
    return least === undefined ? undefined : queues.get(least)
  }

  return {
    get bytes() {
      return bytes
    },
    first: (): Uint8Array | undefined => firstQueue()?.[0]?.bytes,
    removeFirst: (): void => {
      bytes -= firstQueue()?.shift()?.bytes.length ?? 0
    },
    /**
     * Adds a line, instead of less important ones where there is no room.
     * @returns how many lines were dropped for it, or 1 when it was dropped itself
     */
    add: (line: Uint8Array, importance: number): number => {
      let dropped = 0
      while (bytes + line.length > limit) {
        const queue = leastQueue(importance)
        if (queue === undefined) return dropped + 1
        bytes -= queue.pop()!.bytes.length
        dropped++
      }
      const queue = queues.get(importance) ?? []
      queues.set(importance, queue)
      queue.push({ bytes: line, order: added++ })
      bytes += line.length
      return dropped
    },
  }
}

/**
 * Opens a descriptor of the same pipe or terminal whose writes do not block; `fd` itself is shared with other processes,
 * which may want it to block. A terminal of another user (after `sudo`) cannot be opened by its name, but as the terminal of
 * this session. Where the system does not allow it (sockets, pipes of another user), `fd` is used: Node.js makes sockets and
 * pipes non-blocking once `process.stdout` is used, as src/cli/run.ts does. Files need no such descriptor: they never wait
 * for a reader.
 *
 * One case is not covered: a terminal that is neither this user's nor this session's. It blocks when it is stopped.
 */
function openNonBlocking(fd: number): number {
  const stats = fstatSync(fd)
  const isTerminal = isatty(fd)
  if (!stats.isFIFO() && !isTerminal) return fd
  const names = [`/proc/self/fd/${fd}`]
  if (isTerminal && stats.rdev === sessionTerminal()) names.push('/dev/tty')
  for (const name of names) {
    try {
      return openSync(name, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    } catch {
      // The next name, or the descriptor itself.
    }
  }
  return fd
}

/**
 * Returns the device number of the terminal that controls this process (proc_pid_stat(5), tty_nr);
 * 0 where no terminal does.
 */
function sessionTerminal(): number {
  let text: string
  try {
    text = readFileSync('/proc/self/stat', 'latin1')
  } catch {
    return 0
  }
  // The name of the program before it, in brackets, may have spaces and brackets in it.
  const [, , , , terminal] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return Number(terminal)
}

/** @returns number of bytes that were written; a reader that has closed the pipe takes everything: the node continues without a log */
function tryWrite(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EPIPE') return bytes.length
    if (code !== undefined && FULL.has(code)) return 0
    throw error
  }
}

/** Returns the seconds of a clock that all threads share and that is never set; never 0. */
function seconds(): number {
  return process.hrtime()[0] + 1
}

/** Waits a moment at the end of the thread, when its event loop does not run any more. */
function pause(): number {
  const ms = 10
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  return ms
}
