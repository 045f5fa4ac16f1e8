import { MessageChannel } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import type { Evidence } from '../../../../../src/chain/comet/types.ts'
import {
  connectCometNode,
  createNodeCopies,
  publishNetInfo,
  publishRoundState,
  serveEvidence,
} from '../../../../../src/node/roles/socket/cometNode.ts'
import { evidenceJson } from '../../../../../src/rpc/comet/json/evidence.ts'
import { createCometTest } from '../../../../support/rpc/comet/cometNode.ts'
import { duplicateVote, evidenceViews } from '../../../../support/rpc/comet/duplicateVote.ts'
import { roundStateView } from '../../../../support/rpc/comet/roundState.ts'
import { createSignedChain } from '../../../../support/rpc/comet/signedChain.ts'

const undo: (() => void)[] = []

afterEach(() => {
  for (const step of undo.splice(0).reverse()) step()
})

const chain = createSignedChain([{}, {}, {}])
const TIMES = { startMs: 0, commitMs: 0 }
/** longer than the test takes */
const PERIOD_MS = 600_000
const NO_PEERS = { listening: true, listeners: [], peers: [] }

test('thousands of requests cost the main thread one copy and one message', async () => {
  const copies = createNodeCopies(1, PERIOD_MS)
  const counts = { rounds: 0, peers: 0, messages: 0 }
  const added: Evidence[] = []
  const round = () => {
    counts.rounds++
    return roundStateView(chain)
  }
  undo.push(publishRoundState(copies, round, () => TIMES))
  undo.push(
    publishNetInfo(copies, () => {
      counts.peers++
      return NO_PEERS
    }),
  )
  const { port1: main, port2: socket } = new MessageChannel()
  main.on('message', () => {
    counts.messages++
  })
  serveEvidence(main, (evidence) => void added.push(evidence))
  const node = connectCometNode(copies, socket)
  undo.push(node.close)

  const { post } = createCometTest(chain, { node, views: evidenceViews(chain) })
  const ask = async (method: string, params = {}) => JSON.parse((await post({ id: 1, method, params })).json)
  const valid = duplicateVote(chain, 2)
  const evidence = evidenceJson(valid)
  const wrong = evidenceJson({ ...valid, timestampMs: 1 })
  for (let count = 0; count < 1_000; count++) {
    const reads = ['net_info', 'consensus_state', 'dump_consensus_state', 'status'].map((method) => ask(method))
    for (const { error } of await Promise.all(reads)) expect(error).toBeUndefined()
  }
  for (let count = 0; count < 100; count++) {
    expect((await ask('broadcast_evidence', { evidence })).error).toBeUndefined()
    expect((await ask('broadcast_evidence', { evidence: wrong })).error).toBeDefined()
  }
  while (added.length === 0) await new Promise((resolve) => setImmediate(resolve))
  expect(added).toEqual([valid])
  expect(counts).toEqual({ rounds: 1, peers: 1, messages: 1 })
})

test('while consensus does not run, there is no round to show', async () => {
  const copies = createNodeCopies(1)
  const { port2: socket } = new MessageChannel()
  undo.push(
    publishRoundState(
      copies,
      () => undefined,
      () => TIMES,
    ),
  )
  const node = connectCometNode(copies, socket)
  undo.push(node.close)
  expect(await node.roundState()).toBeUndefined()
})
