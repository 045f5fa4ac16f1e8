import type { ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import { call } from '../load/rpc.ts'

const START_TIMEOUT_MS = 30_000
const POLL_MS = 25

/** Returns a port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Waits until the node answers. @throws Error when it ends or does not answer in time */
export async function untilServing(url: string, child: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + START_TIMEOUT_MS; ; ) {
    try {
      await call(url, 'eth_blockNumber')
      return
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error('the node did not start', { cause: error })
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }
}
