import { setTimeout as sleep } from 'node:timers/promises'
import { decodeBlockRequest, encodeBlockFrame } from '../../src/p2p/blockExchange.ts'
import { encodeFrame, readFrame } from '../../src/p2p/frames.ts'
import { LIMITS } from '../../src/p2p/limits.ts'
import { PROTOCOLS } from '../../src/p2p/protocols.ts'
import type { Visit } from '../e2e/network/hostileVisit.ts'
import type { Attack, Run } from './attack.ts'
import { equivocatorLauncher } from './equivocatingTransport.ts'
import { peersOf } from './gossipAttacks.ts'
import { holdAnswers } from './peerAttacks.ts'
import { EQUIVOCATOR, joinNetwork, punishEquivocator, restartAttacked } from './scenes.ts'
import { keepVisiting } from './visits.ts'

const LOOK_MS = 100
/** An answer that comes this late is not late enough for a failed request. */
const SLOW_ANSWER_MS = 9_300
const FALSE_HEIGHT = 1_000_000

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
