import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isNilBlockId, NIL_BLOCK_ID, type Vote } from '../../src/chain/comet/types.ts'
import { voteSignBytes } from '../../src/chain/comet/vote.ts'
import type { PeerId } from '../../src/consensus/transport.ts'
import { loadValidatorKey } from '../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import {
  createNetworkTransport as createHonestTransport,
  type NetworkTransport,
  type NetworkTransportOptions,
} from '../../src/node/roles/main/networkTransport.ts'
import { equalBytes } from '../../src/primitives/bytes.ts'
import { signEd25519 } from '../../src/primitives/ed25519.ts'

/** A file in the node's directory by which a test has it begin; then it says in another one at which height it did. */
const BEGIN = 'equivocate'
const BEGAN = 'equivocated'

/**
 * A transport that sends each own vote to every second peer, and a vote for another value, signed by the same key, to the others. No peer
 * gets both from here.
 */
export function createNetworkTransport(options: NetworkTransportOptions): NetworkTransport {
  const honest = createHonestTransport(options)
  const { HOMEDIR: home = '', CHAIN_ID: chainId = '' } = process.env
  const key = loadValidatorKey(dataPaths(home).validatorKey)!
  const peers: PeerId[] = []
  /** by what they contradict */
  const others = new Map<string, Vote>()
  let hasBegun = false

  const isDeceived = (peer: PeerId): boolean => {
    if (!peers.includes(peer)) peers.push(peer)
    return peers.indexOf(peer) % 2 === 1
  }
  const otherThan = (vote: Vote): Vote => {
    const step = `${vote.height} ${vote.round} ${vote.type}`
    const known = others.get(step)
    if (known !== undefined) return known
    const invented = { hash: randomBytes(32), partSetHeader: { total: 1, hash: randomBytes(32) } }
    const unsigned = { ...vote, blockId: isNilBlockId(vote.blockId) ? invented : NIL_BLOCK_ID }
    const made = { ...unsigned, signature: signEd25519(key, voteSignBytes(chainId, unsigned)) }
    others.set(step, made)
    if (others.size === 1) writeFileSync(join(home, BEGAN), String(vote.height))
    return made
  }

  return {
    ...honest,
    send: (to, message) => {
      hasBegun ||= existsSync(join(home, BEGIN))
      if (!hasBegun || message.kind !== 'vote' || !equalBytes(message.vote.validatorAddress, key.address)) {
        honest.send(to, message)
        return
      }
      honest.send(
        to.filter((peer) => !isDeceived(peer)),
        message,
      )
      honest.send(to.filter(isDeceived), { kind: 'vote', vote: otherThan(message.vote) })
    },
  }
}

/** The program of such a validator, see `NodeOptions.launcher`: its sources, since the bundle has no modules to replace. */
export function equivocatorLauncher(): readonly string[] {
  const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  return ['--import', path('equivocator.ts'), path('../../src/cli/run.ts')]
}

/** Files of a validator that begins to equivocate: the first is the order, the second has the height. */
export function equivocationFiles(home: string): { readonly begin: string; readonly began: string } {
  return { begin: join(home, BEGIN), began: join(home, BEGAN) }
}
