import { setTimeout as sleep } from 'node:timers/promises'
import { directoryBytes } from '../../storage/diskBytes.ts'

interface DiskUsageOptions {
  /** bytes in the database's tables by column */
  readonly columns: () => Promise<ReadonlyMap<string, number>>
  /** directories to measure, by the name that is shown */
  readonly directories: Readonly<Record<string, string>>
  readonly show: (name: string, bytes: number) => void
  /** takes the error of a measurement; the next one is made as usual */
  readonly onError: (error: unknown) => void
  readonly intervalMs?: number
}

const INTERVAL_MS = 10 * 60_000

/**
 * Measures the node's disk usage, at once and then every ten minutes, for its metrics. It asks LevelDB and the file system
 * one after another, without a waiting thread: LevelDB looks into the index of one table at each end of a column, and holds
 * no lock meanwhile.
 * @returns ends it; resolves when no measurement is running any more
 */
export function watchDiskUsage(options: DiskUsageOptions): () => Promise<void> {
  const { columns, directories, show, onError, intervalMs = INTERVAL_MS } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const measure = async (): Promise<void> => {
    for (const [name, bytes] of await columns()) show(name, bytes)
    for (const [name, path] of Object.entries(directories)) {
      if (signal.aborted) return
      show(name, await directoryBytes(path))
    }
  }
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await measure().catch(onError)
      // Rejects when it is stopped.
      await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
  const running = run()
  return () => {
    stopped.abort()
    return running
  }
}
