import type { FastifyInstance } from 'fastify'
import type { Api } from '../api/api.ts'
import { ClientLimit } from '../api/clientLimit.ts'
import { deleteOldReports, storeReport } from './nodeBook.ts'
import { readReport } from './readReport.ts'

/** Longest body, in bytes: twenty times what a node sends. */
const MAX_BODY = 8 * 1024
/** A node sends two reports a minute: thirty of one operator may share an address. */
const REPORTS = { burst: 60, perHour: 3_600 } as const
const ALL_REPORTS = { burst: 600, perHour: 180_000 } as const
/** Reports for nodes that have never reported before. */
const NEW_NODES = { burst: 30, perHour: 30 } as const
const ALL_NEW_NODES = { burst: 300, perHour: 600 } as const
const CLEANING_MS = 3_600_000

/** Takes the reports of nodes: `POST heartbeat`, as docs/operations.md describes it. */
export function addHeartbeats(
  app: FastifyInstance,
  {
    queries,
    services,
    nodeHeight,
    clientOf,
    logger,
  }: Pick<Api, 'queries' | 'services' | 'nodeHeight' | 'clientOf' | 'logger'>,
): void {
  const reports = new ClientLimit(REPORTS, ALL_REPORTS)
  const newNodes = new ClientLimit(NEW_NODES, ALL_NEW_NODES)
  // The signature is over the bytes, so the parser returns them. It reads no other type, so that a web form cannot send a report.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const cleaning = setInterval(() => {
    deleteOldReports(services, Date.now()).catch((error: unknown) =>
      logger.warn({ error }, 'old reports of nodes were not deleted'),
    )
  }, CLEANING_MS).unref()
  app.addHook('onClose', async () => clearInterval(cleaning))

  app.post('/heartbeat', { bodyLimit: MAX_BODY, schema: { hide: true } }, async (request, reply) => {
    const client = clientOf(request)
    if (!reports.take(client, performance.now())) {
      return reply.code(429).send({ error: 'too many reports from this address: try again later' })
    }
    const nowMs = Date.now()
    const report = readReport(request.body as Buffer, request.headers, nowMs)
    if ('status' in report) return reply.code(report.status).send({ error: report.error })
    const chain = await queries.selectFrom('ingest').selectAll().executeTakeFirst()
    if (chain !== undefined && (chain.chain_id !== report.chainId || chain.evm_chain_id !== report.evmChainId)) {
      return reply.code(400).send({ error: `this explorer takes reports of the chain ${chain.chain_id} only` })
    }
    const height = Math.max(chain?.height ?? 0, nodeHeight() ?? 0)
    const refusal = await storeReport(services, report, {
      lag: Math.max(0, height - report.height),
      nowMs,
      mayAdd: () => newNodes.take(client, performance.now()),
    })
    if (refusal !== undefined) return reply.code(refusal.status).send({ error: refusal.error })
    return { isVerified: report.signedAtMs !== undefined }
  })
}
