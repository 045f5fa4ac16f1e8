import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dataHash } from '../../../src/chain/comet/block.ts'
import type { Application } from '../../../src/consensus/application.ts'
import type { ApplicationService } from '../../../src/node/roles/executor/executorRequests.ts'
import { executorApplication as honestApplication } from '../../../src/node/roles/main/executorApplication.ts'
import type { Remote } from '../../../src/node/wire/port.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'

/** Where a node that {@link unboundedLauncher} starts looks for the block that it is to propose; it says there at which height it did. */
const BLOCK_DIRECTORY = 'UNBOUNDED_BLOCKS'
const NEXT = 'next.json'
const PROPOSED = 'proposed.json'

/**
 * The application of a Byzantine proposer: it proposes the transactions that it finds in a file, in no time and without executing them. A
 * proposer that prepares its block before its turn can do no more. Without a file it is honest.
 */
export function executorApplication(executor: Remote<ApplicationService>): Application {
  const honest = honestApplication(executor)
  const directory = process.env[BLOCK_DIRECTORY]!
  return {
    ...honest,
    prepareProposal: async (request, budgetMs) => {
      const next = join(directory, NEXT)
      if (!existsSync(next)) return honest.prepareProposal(request, budgetMs)
      const txs = (JSON.parse(readFileSync(next, 'utf8')) as `0x${string}`[]).map(hexToBytes)
      renameSync(next, join(directory, `taken-${request.height}.json`))
      writeFileSync(join(directory, PROPOSED), String(request.height))
      return { txs, evidence: [], dataHash: dataHash(txs) }
    },
  }
}

/** The program of such a node, see `NodeOptions.launcher`: its sources, since the bundle has no modules to replace. */
export function unboundedLauncher(): readonly string[] {
  const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  return ['--import', path('unboundedProposer.ts'), path('../../../src/cli/run.ts')]
}

/** The variables of such a node. */
export function unboundedVariables(directory: string): Readonly<Record<string, string>> {
  return { [BLOCK_DIRECTORY]: directory }
}

/** Has the node propose these transactions when it is its turn. Gives the height, once it has proposed them. */
export async function proposeUnbounded(directory: string, txs: readonly Uint8Array[]): Promise<number> {
  const proposed = join(directory, PROPOSED)
  const [draft, next] = [join(directory, 'draft.json'), join(directory, NEXT)]
  writeFileSync(proposed, '')
  writeFileSync(draft, JSON.stringify(txs.map((tx) => bytesToHex(tx))))
  renameSync(draft, next)
  for (let height = ''; ; height = readFileSync(proposed, 'utf8')) {
    if (height !== '') return Number(height)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
