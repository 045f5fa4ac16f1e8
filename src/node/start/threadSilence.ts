import type { Silence } from '../../rpc/transport/probes.ts'
import { type CopyChannel, publishCopies, readCopies } from '../wire/copyOnRequest.ts'

/*
 * How a socket thread notices that the node hangs: it asks the main thread for a copy, and the main thread asks the threads
 * that the node cannot work without. No thread waits for the answers: each request reports how long earlier ones have been
 * unanswered. Without probes, no thread is asked.
 */

const NONE: Silence = { thread: '', silentMs: 0 }

/**
 * Tells socket threads, from the main thread, how long others have owed an answer.
 * @param threads what asks each of them for one, by name
 * @returns ends it
 */
export function publishSilence(
  channel: CopyChannel,
  threads: Readonly<Record<string, () => Promise<unknown>>>,
  nowMs: () => number,
): () => void {
  const askedMs = new Map<string, number>()
  return publishCopies(channel, (): Silence => {
    const now = nowMs()
    for (const [thread, ask] of Object.entries(threads)) {
      if (askedMs.has(thread)) continue
      askedMs.set(thread, now)
      const answered = (): void => void askedMs.delete(thread)
      // A thread that has ended cannot answer: its end ends the node.
      ask().then(answered, answered)
    }
    return longest([...askedMs].map(([thread, since]) => ({ thread, silentMs: now - since })))
  })
}

/** Watches for how long the main thread, and the threads that it asks, have owed an answer. */
export interface SilenceWatch {
  readonly silence: () => Silence
  close(): void
}

export function watchSilence(channel: CopyChannel, nowMs: () => number): SilenceWatch {
  const copies = readCopies<Silence>(channel)
  let ofOthers = NONE
  let askedMs: number | undefined
  const ask = (): void => {
    askedMs = nowMs()
    copies.read().then(
      (copy) => {
        ofOthers = copy
        askedMs = undefined
      },
      // This thread stops.
      () => undefined,
    )
  }
  return {
    silence: () => {
      const ofMain = { thread: 'main', silentMs: askedMs === undefined ? 0 : nowMs() - askedMs }
      if (askedMs === undefined) ask()
      return longest([ofMain, ofOthers])
    },
    close: copies.close,
  }
}

function longest(silences: readonly Silence[]): Silence {
  return silences.reduce((most, silence) => (silence.silentMs > most.silentMs ? silence : most), NONE)
}
