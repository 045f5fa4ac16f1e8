import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Run } from './attack.ts'

/** After a failed connection; an attacker who does not wait only attacks his own machine. */
const RETRY_MS = 20

interface Reply {
  readonly status: number
  readonly body: string
}

interface Posting {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends one body over a kept connection. */
function postOnce(
  { target, from, signal }: Run,
  agent: Agent,
  { path = '/', headers = {} }: Posting,
  body: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        signal,
        path,
        host: target.host,
        port: target.rpcPort,
        localAddress: from,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({ status: response.statusCode!, body: Buffer.concat(chunks).subarray(0, 300).toString() }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Keeps `connections` connections busy: each sends the next body when the one before is answered. */
export async function keepPosting(
  run: Run,
  connections: number,
  next: () => string,
  posting: Posting = {},
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const send = async (): Promise<void> => {
    while (!run.signal.aborted) {
      try {
        const { status, body } = await postOnce(run, agent, posting, next())
        run.count(outcomeOf(status, body))
      } catch {
        run.count('broken')
        await sleep(RETRY_MS)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, send))
  agent.destroy()
}

function outcomeOf(status: number, body: string): string {
  if (status !== 200) return `HTTP ${status}`
  const [, code, message] = /"error":\{"code":(-?\d+),"message":"([^"0-9]*)/.exec(body) ?? []
  return code === undefined ? 'answered' : `error ${code} ${message}`
}

/** A request that gets no answer: its connection is closed as soon as it is sent, and the next one is made. */
export async function keepLeaving(run: Run, connections: number, next: () => string): Promise<void> {
  const visit = async (): Promise<void> => {
    while (!run.signal.aborted) {
      const socket = await openSocket(run, { host: run.target.host, port: run.target.rpcPort })
      if (socket === undefined) continue
      const body = next()
      socket.write(
        `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        () => socket.destroy(),
      )
      run.count('left')
      await sleep(1)
    }
  }
  await Promise.all(Array.from({ length: connections }, visit))
}

/** A TCP connection; undefined when there was none, after a while. @param localAddress by default that of the attack's clients */
export async function openSocket(
  { from, signal, count }: Run,
  { host, port, localAddress = from }: { readonly host: string; readonly port: number; readonly localAddress?: string },
): Promise<Socket | undefined> {
  const socket = connect({ host, port, localAddress })
  const end = (): void => void socket.destroy()
  signal.addEventListener('abort', end, { once: true })
  socket.on('close', () => signal.removeEventListener('abort', end))
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })
  socket.on('error', () => undefined)
  if (isOpen) return socket
  count('refused')
  await sleep(RETRY_MS)
  return undefined
}

/** A WebSocket; undefined when there was none, after a while. */
export async function openWebSocket(
  { target, from, signal, count }: Run,
  path: string,
): Promise<WebSocket | undefined> {
  const socket = new WebSocket(`ws://${target.host}:${target.rpcPort}${path}`, { localAddress: from })
  const end = (): void => socket.terminate()
  signal.addEventListener('abort', end, { once: true })
  socket.on('close', () => signal.removeEventListener('abort', end))
  socket.on('error', () => undefined)
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('open', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
  if (isOpen) return socket
  count('refused')
  await sleep(RETRY_MS)
  return undefined
}
