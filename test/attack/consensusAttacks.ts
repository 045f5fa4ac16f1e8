import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeBlockRequest, encodeBlockFrame } from '../../src/p2p/blockExchange.ts'
import { encodeFrame, readFrame } from '../../src/p2p/frames.ts'
import { LIMITS } from '../../src/p2p/limits.ts'
import { PROTOCOLS } from '../../src/p2p/protocols.ts'
import type { Visit } from '../e2e/network/hostileVisit.ts'
import { type NetworkNode, waitForHeight } from '../e2e/network/localNetwork.ts'
import type { Attack, Run, Scene, SceneReport } from './attack.ts'
import { equivocationFiles, equivocatorLauncher } from './equivocatingTransport.ts'
import { peersOf } from './gossipAttacks.ts'
import { holdAnswers } from './peerAttacks.ts'
import { keepVisiting } from './visits.ts'

const LOOK_MS = 100
/** An answer that comes this late is not late enough for a failed request. */
const SLOW_ANSWER_MS = 9_300
const FALSE_HEIGHT = 1_000_000
/** A restarted validator returns to consensus in this time, whatever heights strangers claim (`sync/blockSync.ts`). */
const RETURN_MS = 40_000
/** The validator that equivocates. */
const EQUIVOCATOR = 3
/** Blocks after which two contradicting votes are punished. */
const PUNISHED_WITHIN = 20
/** A node that joins has some hundred blocks in this time. */
const JOINED_MS = 20_000

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

/** Answers requests for blocks late, and with a height that it does not have. */
async function answerSlowly(run: Run, { host, connection }: Visit): Promise<void> {
  await host.handle(PROTOCOLS.blocks, async (stream) => {
    decodeBlockRequest(await readFrame(stream, LIMITS.requestBytes, LIMITS.requestMs))
    run.count('requests')
    await sleep(SLOW_ANSWER_MS)
    stream.send(encodeFrame(encodeBlockFrame({ kind: 'standing', base: 1, height: FALSE_HEIGHT })))
    stream.send(encodeFrame(encodeBlockFrame({ kind: 'end' })))
    run.count('answers')
  })
  while (!run.signal.aborted && connection.status === 'open') await sleep(LOOK_MS)
}

/** Kills the attacked validator, starts it again, and waits until a block has its vote. */
async function restartAttacked({ network, attacked, signal, start }: Scene): Promise<SceneReport> {
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
async function joinNetwork({ network, signal, start }: Scene): Promise<SceneReport> {
  const joining = network.nodes[network.validators.length]!
  await start(joining)
  const beganMs = performance.now()
  const from = await joining.height()
  const to = await network.seed.height()
  const firstAt = await until(signal, async () => ((await joining.height()) >= to ? performance.now() : undefined))
  const tookMs = Math.round(firstAt - beganMs)
  const banned = blamed(joining, network.validators)
  await joining.kill('SIGKILL')
  rmSync(join(joining.home, 'db'), { recursive: true, force: true })
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

async function punishEquivocator({ network, signal }: Scene): Promise<SceneReport> {
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

/** An attack that is all in its scene. */
const nothing =
  async (run: Run): Promise<() => Promise<void>> =>
  async () =>
    run.count('scenes')

/** What keeps validators from consensus, or goes unpunished. */
export const CONSENSUS_ATTACKS: readonly Attack[] = [
  {
    name: '19 claims of heights',
    what: `# peers that claim ${FALSE_HEIGHT.toLocaleString('en')} blocks and answer after ${SLOW_ANSWER_MS} ms, while a validator restarts`,
    size: 6,
    needs: { sessions: 6, requests: 1 },
    prepare: async (run) => async () => {
      const visit = (): Promise<void> =>
        keepVisiting(run, (visit) => answerSlowly(run, visit), { height: FALSE_HEIGHT })
      await Promise.all(Array.from({ length: run.size }, visit))
    },
    meanwhile: restartAttacked,
  },
  {
    name: '20 held answers',
    what: '# peers at each node that ask for blocks and do not read them, while a node joins',
    size: 5,
    needs: { sessions: 20, requests: 20 },
    prepare: async (run) => async () => {
      const visits = peersOf(run).flatMap((target) =>
        Array.from({ length: run.size }, () => keepVisiting(run, (visit) => holdAnswers(run, visit), { target })),
      )
      await Promise.all(visits)
    },
    meanwhile: joinNetwork,
  },
  {
    name: '22 equivocation to two halves',
    what: 'a validator that sends half of its peers other votes, none both',
    size: 1,
    launcherOf: (index) => (index === EQUIVOCATOR ? equivocatorLauncher() : undefined),
    prepare: nothing,
    meanwhile: punishEquivocator,
  },
]
