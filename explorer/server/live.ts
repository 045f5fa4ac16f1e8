import type { ServerResponse } from 'node:http'
import type { Api } from '../api/api.ts'
import { listBlocks } from '../blocks/queries.ts'
import { listTransactions } from '../transactions/queries.ts'

/** Most open streams: in all, and of one client, which may have many open pages or be many people behind one address. */
const MAX_LISTENERS = 1_000
const MAX_OF_CLIENT = 50
/** Newest blocks and transactions in one update. */
const NEWEST = 10
/** A comment this often keeps proxies from closing a quiet connection. */
const PING_MS = 15_000
/** A stream that is not read for this long is closed, to make room for others. */
const STUCK_MS = 60_000

interface Listener {
  readonly stream: Pick<ServerResponse, 'write' | 'end' | 'destroy' | 'writableNeedDrain'>
  readonly client: string
  /** since when it has not read what was sent; undefined: it has read everything */
  stuckSinceMs: number | undefined
}

/** Live updates by server-sent events: the newest blocks and transactions, whenever the index has new ones. */
export function addLive(
  app: Api['app'],
  { queries, onIndexed, clientOf, logger }: Pick<Api, 'queries' | 'onIndexed' | 'clientOf' | 'logger'>,
): void {
  const open = new Set<Listener>()
  let isAsking = false
  let isAskedAgain = false

  const send = async (): Promise<void> => {
    if (open.size === 0) return
    isAskedAgain = isAsking
    if (isAsking) return
    isAsking = true
    try {
      do {
        isAskedAgain = false
        await sendNewest()
      } while (isAskedAgain)
    } finally {
      // Also when the database is away: the next block asks again.
      isAsking = false
    }
  }

  const sendNewest = async (): Promise<void> => {
    const [blocks, transactions] = await Promise.all([
      listBlocks(queries, {}, { limit: NEWEST }),
      listTransactions(queries, {}, { limit: NEWEST }),
    ])
    write(`event: newest\ndata: ${JSON.stringify({ blocks: blocks.items, transactions: transactions.items })}\n\n`)
  }

  const write = (text: string): void => {
    const nowMs = performance.now()
    for (const listener of open) {
      const { stream } = listener
      if (!stream.writableNeedDrain) {
        listener.stuckSinceMs = undefined
        stream.write(text)
        continue
      }
      // A client that reads too slowly misses an update. The next one has the newest blocks, too.
      listener.stuckSinceMs ??= nowMs
      if (nowMs - listener.stuckSinceMs > STUCK_MS) stream.destroy()
    }
  }
  const stopListening = onIndexed(
    () => void send().catch((error: unknown) => logger.warn({ error }, 'live updates were not sent')),
  )
  const ping = setInterval(() => write(':\n\n'), PING_MS).unref()

  app.get(
    '/live',
    { schema: { tags: ['network'], summary: 'Newest blocks and transactions, as server-sent events `newest`' } },
    (request, reply) => {
      const client = clientOf(request)
      const own = [...open].filter((listener) => listener.client === client).length
      if (open.size >= MAX_LISTENERS || own >= MAX_OF_CLIENT) {
        return reply.code(503).send({ error: 'too many open streams: try again later' })
      }
      reply.hijack()
      const stream = reply.raw
      stream.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      stream.write('retry: 2000\n\n')
      const listener: Listener = { stream, client, stuckSinceMs: undefined }
      open.add(listener)
      stream.once('close', () => open.delete(listener))
      return undefined
    },
  )
  app.addHook('preClose', async () => {
    stopListening()
    clearInterval(ping)
    for (const { stream } of open) {
      // A stream that is not read would never end.
      if (stream.writableNeedDrain) stream.destroy()
      else stream.end()
    }
  })
}
