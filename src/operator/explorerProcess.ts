import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { RunningExplorer } from '../cli/ports.ts'
import { explorerEntry } from '../primitives/location.ts'

const ENTRY = fileURLToPath(explorerEntry('explorer'))

/**
 * Starts an explorer as its own process, which ends with this one, whatever ends it. It writes its log where this process does.
 * @param variables its configuration, in addition to the environment
 * @param signal ends it, also before it serves
 * @returns the explorer when it serves, or the reason why it ended before that
 */
export function startExplorer(
  variables: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<RunningExplorer | string> {
  const child = spawn(process.execPath, [ENTRY, 'explorer'], {
    // The channel closes when this process ends: that stops the explorer.
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    // Ctrl-C in a terminal is for this process alone, which then ends the explorer: two signals end it before it has closed its databases.
    detached: true,
    env: { ...process.env, ...variables },
  })
  let problem = ''
  child.stderr?.on('data', (text: Buffer) => {
    problem = text.toString()
    process.stderr.write(text)
  })
  let isEnding = false
  const end = (): void => {
    if (isEnding) return
    isEnding = true
    child.kill('SIGTERM')
  }
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return new Promise((resolve) => {
    child.once('message', ({ url }: { readonly url: string }) =>
      resolve({
        url,
        stop: () => {
          end()
          return exited
        },
      }),
    )
    child.once('error', ({ message }) => resolve(message))
    void exited.then(() => resolve(problem.trim().replace(/^coind: /, '') || 'the process has ended'))
  })
}
