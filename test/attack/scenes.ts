import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { differences, type NetworkNode, waitForHeight } from '../e2e/network/localNetwork.ts'
import { runCoind } from '../e2e/runCoind.ts'
import type { Scene, SceneReport } from './attack.ts'
import { equivocationFiles } from './equivocatingTransport.ts'

const LOOK_MS = 100
/** A restarted validator returns to consensus in this time, whatever heights strangers claim (`sync/blocks/blockSync.ts`). */
const RETURN_MS = 40_000
/** The validator that equivocates. */
export const EQUIVOCATOR = 3
/** Blocks after which two contradicting votes are punished. */
const PUNISHED_WITHIN = 20
/** A node that joins has some hundred blocks in this time. */
const JOINED_MS = 20_000
/** For the attack's transactions to be in blocks. */
const BEFORE_EXPORT_MS = 6_000

interface Commit {
  readonly signed_header: {
    readonly commit: { readonly signatures: readonly { readonly validator_address: string | null }[] }
  }
}

interface SigningInfos {
  readonly info: readonly { readonly address: string; readonly tombstoned: boolean }[]
}

/** What a function returns as soon as it is not undefined. @throws the signal's reason */
async function until<T>(signal: AbortSignal, find: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    await sleep(LOOK_MS, undefined, { signal })
  }
}

/** Kills the attacked validator, starts it again, and waits until a block has its vote. */
export async function restartAttacked({ network, attacked, signal, start }: Scene): Promise<SceneReport> {
  const { validator_info } = await attacked.comet<{ readonly validator_info: { readonly address: string } }>('status')
  await attacked.kill('SIGKILL')
  await start(attacked)
  const beganMs = performance.now()
  let height = await network.seed.height()
  await until(signal, async () => {
    const newest = await network.seed.height()
    for (; height < newest; height++) {
      const { signed_header } = await network.seed.comet<Commit>(`commit?height=${height}`)
      const { signatures } = signed_header.commit
      if (signatures.some(({ validator_address }) => validator_address === validator_info.address)) return true
    }
    return undefined
  })
  const tookMs = Math.round(performance.now() - beganMs)
  return {
    text: `first vote ${tookMs} ms after the restarted validator served`,
    failures: tookMs <= RETURN_MS ? [] : [`a restarted validator was out of consensus for ${tookMs} ms`],
  }
}

/** Starts a node without blocks, and waits until it has all. */
export async function joinNetwork({ network, signal, start }: Scene): Promise<SceneReport> {
  const joining = network.nodes[network.validators.length]!
  await start(joining)
  const beganMs = performance.now()
  const from = await joining.height()
  const to = await network.seed.height()
  const firstAt = await until(signal, async () => ((await joining.height()) >= to ? performance.now() : undefined))
  const tookMs = Math.round(firstAt - beganMs)
  const banned = blamed(joining, network.validators)
  await forgetChain(joining)
  return {
    text: `${to - from} blocks in ${tookMs} ms`,
    failures: [
      ...(tookMs <= JOINED_MS ? [] : [`a node that joins needed ${tookMs} ms for ${to - from} blocks`]),
      ...banned.map((line) => `it blamed an honest node: ${line}`),
    ],
  }
}

/** Lines in which a node bans one of these. */
function blamed(node: NetworkNode, honest: readonly NetworkNode[]): readonly string[] {
  return node.running
    .output()
    .split('\n')
    .filter((line) => line.includes('peer banned') && honest.some(({ nodeId }) => line.includes(nodeId)))
}

export async function punishEquivocator({ network, signal }: Scene): Promise<SceneReport> {
  const { seed, validators } = network
  const { begin, began } = equivocationFiles(validators[EQUIVOCATOR]!.home)
  writeFileSync(begin, '')
  const first = Number(
    await until(signal, () => (existsSync(began) ? readFileSync(began, 'utf8') || undefined : undefined)),
  )
  await until(signal, async () => {
    const answer = await fetch(new URL('cosmos/slashing/v1beta1/signing_infos', seed.rpcUrl))
    const { info } = (await answer.json()) as SigningInfos
    return info.some(({ tombstoned }) => tombstoned) || undefined
  })
  const blocks = (await seed.height()) - first
  await waitForHeight(seed, first + PUNISHED_WITHIN)
  return {
    text: `tombstoned ${blocks} blocks after its first two votes`,
    failures: blocks <= PUNISHED_WITHIN ? [] : [`equivocation was punished after ${blocks} blocks`],
  }
}

/** Exports the chain of the attacked node, and imports it in another one, which executes all blocks in its main thread. */
export async function importChain({ network, attacked, start }: Scene): Promise<SceneReport> {
  await sleep(BEFORE_EXPORT_MS)
  const to = await attacked.height()
  const blocks = join(network.directory, 'blocks')
  const other = network.nodes[network.validators.length]!
  const exported = await runCoind(['export', '--directory', '--out', blocks, '--to', String(to)], {
    environment: { ...attacked.variables, HOMEDIR: attacked.home },
  })
  if (exported.code !== 0) return { text: 'no export', failures: [`the export failed: ${exported.output}`] }
  const imported = await runCoind(['import', blocks], { environment: { ...other.variables, HOMEDIR: other.home } })
  if (imported.code !== 0) return { text: 'no import', failures: [`the import failed: ${imported.output}`] }
  await start(other)
  const different = await differences([attacked, other])
  await forgetChain(other)
  return { text: `${to} blocks imported`, failures: different }
}

/** Ends a node and removes its blocks, for the next scene. */
async function forgetChain(node: NetworkNode): Promise<void> {
  await node.kill('SIGKILL')
  for (const name of ['db', 'wal']) rmSync(join(node.home, name), { recursive: true, force: true })
}
