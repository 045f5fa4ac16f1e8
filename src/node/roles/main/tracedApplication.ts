import { entryHash } from '../../../chain/block/entries.ts'
import type { Application } from '../../../consensus/application.ts'
import { epochMs, type Tracer } from '../../../telemetry/spans.ts'

/** Records the executor's part of traces: its work for a block, also in the traces of the block's transactions. */
export function traceApplication(application: Application, tracer: Tracer): Application {
  const record = (
    name: string,
    startMs: number,
    height: number,
    txs: readonly Uint8Array[],
    attributes: Readonly<Record<string, string | number | boolean>> = {},
  ): void => {
    const endMs = epochMs()
    const all = { 'coind.height': height, 'coind.transactions': txs.length, ...attributes }
    tracer.block(height, name, { startMs, endMs, attributes: all })
    for (const raw of txs) {
      const hash = entryHash(raw)
      if (tracer.follows(hash)) tracer.transaction(hash, name, { startMs, endMs, attributes: all, block: height })
    }
  }
  return {
    ...application,
    prepareProposal: async (request, budgetMs) => {
      const startMs = epochMs()
      const built = await application.prepareProposal(request, budgetMs)
      record('block.build', startMs, request.height, built?.txs ?? [], { 'coind.built': built !== undefined })
      return built
    },
    processProposal: async (block, budgetMs) => {
      const startMs = epochMs()
      const verdict = await application.processProposal(block, budgetMs)
      const attributes = { 'coind.accepted': verdict?.accepted ?? false }
      record('block.check', startMs, block.header.height, block.txs, attributes)
      return verdict
    },
    finalizeBlock: async (decided) => {
      const startMs = epochMs()
      const result = await application.finalizeBlock(decided)
      record('block.finalize', startMs, decided.block.header.height, decided.block.txs)
      return result
    },
  }
}
