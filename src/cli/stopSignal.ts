import type { Terminal } from './ports.ts'

/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130

/** A parent process may pass on a signal that the node got itself too: two signals within this time count as one. */
const SAME_SIGNAL_MS = 500

/** The command was stopped before it had done its work: by a signal, or by Ctrl-C or Ctrl-D at a question. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/**
 * Connects the stop signals of the process with a command that stops cleanly: the first one aborts
 * the result, and the command ends by itself as soon as it can; a second one ends the process at
 * once. Call it before the command starts anything: until then a signal ends the process.
 */
export function abortOnStop(terminal: Pick<Terminal, 'onStopSignal' | 'exitNow' | 'now'>): AbortSignal {
  const stop = new AbortController()
  let firstSignalMs: number | undefined
  terminal.onStopSignal(() => {
    if (firstSignalMs === undefined) {
      firstSignalMs = terminal.now()
      stop.abort()
    } else if (terminal.now() - firstSignalMs > SAME_SIGNAL_MS) {
      terminal.exitNow(EXIT_INTERRUPTED)
    }
  })
  return stop.signal
}

/** Runs work that can be interrupted and resumes with the next call. @throws Interrupted when a stop signal ended the work */
export async function unlessStopped<T>(
  terminal: Pick<Terminal, 'onStopSignal' | 'exitNow' | 'now'>,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = abortOnStop(terminal)
  return orInterrupted(run(signal), signal, 'interrupted: run the same command again to continue')
}

/** @throws Interrupted with the message when the signal has ended the work */
export function orInterrupted<T>(work: Promise<T>, signal: AbortSignal, message: string): Promise<T> {
  return work.catch((error: unknown) => {
    throw error === signal.reason ? new Interrupted(message) : error
  })
}
