import type { Api } from '../api.ts'
import { listTransactions } from '../queries.ts'
import { viewBlock } from '../views.ts'

/** Clients that listen at the same time. */
const MAX_LISTENERS = 1_000
/** Newest blocks and transactions in one update: more is for pages, not for eyes. */
const NEWEST = 10
/** A comment this often keeps proxies from closing a quiet connection. */
const PING_MS = 15_000

/** Live updates by server-sent events: the newest blocks and transactions, whenever the index has new ones. */
export function addLive(app: Api['app'], { queries, onIndexed }: Pick<Api, 'queries' | 'onIndexed'>): void {
  const open = new Set<NodeJS.WritableStream & { readonly writableNeedDrain: boolean }>()
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
    const [rows, transactions] = await Promise.all([
      queries.selectFrom('block').selectAll().orderBy('height', 'desc').limit(NEWEST).execute(),
      listTransactions(queries, {}, { limit: NEWEST }),
    ])
    const text = `event: newest\ndata: ${JSON.stringify({ blocks: rows.map(viewBlock), transactions: transactions.items })}\n\n`
    // Whoever reads too slowly misses an update: the next one has all of it.
    for (const stream of open) if (!stream.writableNeedDrain) stream.write(text)
  }
  onIndexed(() => void send().catch((error: unknown) => app.log.error(error)))

  app.get(
    '/live',
    { schema: { tags: ['network'], summary: 'Server-sent events `newest`: the newest blocks and transactions' } },
    (request, reply) => {
      if (open.size >= MAX_LISTENERS) return reply.code(503).send({ error: 'too many listeners: ask again later' })
      reply.hijack()
      const stream = reply.raw
      stream.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      stream.write('retry: 2000\n\n')
      open.add(stream)
      const ping = setInterval(() => stream.write(':\n\n'), PING_MS).unref()
      request.raw.once('close', () => {
        clearInterval(ping)
        open.delete(stream)
      })
      return undefined
    },
  )
  app.addHook('preClose', async () => {
    for (const stream of open) stream.end()
  })
}
