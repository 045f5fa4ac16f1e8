import { fork } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../e2e/startNode.ts'

const LAUNCHER = new URL('../../bin/coind.js', import.meta.url).pathname

/** An explorer in a process of its own, which ends with this one. */
export interface ExplorerProcess {
  readonly url: string
  /** Ends it with SIGKILL; resolves when it has ended. */
  kill(): Promise<void>
  /** Ends it cleanly. */
  stop(): Promise<void>
}

/**
 * @param options `port`: a free one by default; `settings`: more of its variables
 * @throws Error when it ends while it starts
 */
export async function startExplorerProcess({
  nodeUrl,
  home,
  database,
  port,
  settings = {},
}: {
  readonly nodeUrl: string
  readonly home: string
  readonly database: string
  readonly port?: number
  readonly settings?: Readonly<Record<string, string>>
}): Promise<ExplorerProcess> {
  const child = fork(LAUNCHER, ['explorer'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      EXPLORER_NODE_URL: nodeUrl,
      EXPLORER_HOST: '127.0.0.1',
      EXPLORER_PORT: String(port ?? (await freePort())),
      EXPLORER_DATABASE: database,
      LOG_LEVEL: 'error',
      ...settings,
    },
  })
  const exited = once(child, 'exit')
  const ended = exited.then(([code, signal]) => {
    throw new Error(`the explorer ended while it started: ${code ?? signal}`)
  })
  ended.catch(() => undefined)
  const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ readonly url: string }]
  return {
    url,
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
