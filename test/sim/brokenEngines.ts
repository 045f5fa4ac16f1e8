import { SIGNED_MESSAGE_TYPES } from '../../src/chain/comet/types.ts'
import { ConsensusEngine, type EngineOptions } from '../../src/consensus/engine.ts'
import type { RoundState } from '../../src/consensus/roundState.ts'
import { Signer } from '../../src/consensus/signer.ts'
import type { EngineLike } from './engineLike.ts'
import { consensusKeyOf } from './signatureScheme.ts'
import type { SimNode } from './simNode.ts'
import { whenSigned } from './whenSigned.ts'

type CreateEngine = (options: EngineOptions, node: SimNode) => EngineLike

/** Makes an engine whose round state is changed before it starts. */
function withRoundState(change: (rounds: RoundState) => void): CreateEngine {
  return (options) => {
    const engine = new ConsensusEngine(options)
    change(engine.roundState as RoundState)
    return engine
  }
}

/** Engines with one fault each, made around the real one: what the simulator must find. */
export const BROKEN_ENGINES: Readonly<Record<string, CreateEngine>> = {
  'forgets its lock': withRoundState((rounds) => {
    Object.defineProperty(rounds, 'lockedRound', { get: () => -1, set: () => undefined })
    Object.defineProperty(rounds, 'lockedBlockId', { get: () => undefined, set: () => undefined })
  }),

  'believes any proof of lock': (options) => {
    const { verify, environment } = options
    const isMade = (signature: Uint8Array): boolean => signature.every((byte) => byte === 0xaa)
    const engine = new ConsensusEngine({
      ...options,
      verify: (publicKey, message, signature) => isMade(signature) || verify(publicKey, message, signature),
      environment: {
        ...environment,
        send: (to, message) => {
          if (message.kind !== 'vote' || !isMade(message.vote.signature)) environment.send(to, message)
        },
      },
    })
    const { receive } = engine
    engine.receive = (from, message) => {
      if (message.kind === 'proposal' && message.proposal.polRound >= 0) {
        const { height, polRound: round, blockId, timestampMs } = message.proposal
        const { validators } = engine.roundState.validators
        for (const [validatorIndex, { address: validatorAddress }] of validators.entries()) {
          const signature = new Uint8Array(64).fill(0xaa)
          const type = SIGNED_MESSAGE_TYPES.prevote
          const vote = { type, height, round, blockId, timestampMs, validatorAddress, validatorIndex, signature }
          receive.call(engine, from, { kind: 'vote', vote })
        }
      }
      receive.call(engine, from, message)
    }
    return engine
  },

  'sends before the log is on disk': (options) => {
    const { environment } = options
    const { wal } = environment
    return new ConsensusEngine({
      ...options,
      environment: {
        ...environment,
        wal: {
          append: (entry) => wal.append(entry),
          prune: (height) => wal.prune(height),
          sync: (done) => {
            wal.sync(() => undefined)
            done()
          },
        },
      },
    })
  },

  'counts half of the power as all': (options) => {
    const halved = <T extends { readonly totalPower: bigint }>(set: T): T => ({
      ...set,
      totalPower: set.totalPower / 2n,
    })
    const { state } = options
    return new ConsensusEngine({
      ...options,
      state: { ...state, validators: halved(state.validators), nextValidators: halved(state.nextValidators) },
    })
  },

  'takes any signature': (options) => new ConsensusEngine({ ...options, verify: () => true }),

  'forgets what it signed when it starts': (options, node) => {
    const { key, simulation } = node
    if (key === undefined) return new ConsensusEngine(options)
    const memory = new Signer({
      key: consensusKeyOf(key),
      chainId: simulation.chain.chainId,
      wal: options.environment.wal,
      lastSigned: undefined,
      decidedHeight: options.state.lastHeight,
    })
    return new ConsensusEngine({
      ...options,
      replay: [],
      signer: {
        address: key.address,
        stageProposal: (proposal) => memory.stageProposal(proposal),
        stageVote: (vote) => whenSigned(memory.stageVote(vote), (signed) => simulation.voteSigned(signed)),
      },
    })
  },

  'votes without asking the application': (options) => {
    const engine = new ConsensusEngine(options)
    const { validated } = engine
    engine.validated = (height, hash) => validated.call(engine, height, hash, undefined)
    return engine
  },

  'precommits without two thirds of the prevotes': (options) => {
    const { signer } = options
    if (signer === undefined) return new ConsensusEngine(options)
    const engine: ConsensusEngine = new ConsensusEngine({
      ...options,
      signer: {
        get address() {
          return signer.address
        },
        stageProposal: (proposal) => signer.stageProposal(proposal),
        stageVote: (vote) => {
          const { proposal } = engine.roundState
          return signer.stageVote(
            vote.type === 2 && proposal !== undefined ? { ...vote, blockId: proposal.blockId } : vote,
          )
        },
      },
    })
    return engine
  },

  'never hears that the log has failed': (options) => {
    const { environment } = options
    const { wal } = environment
    return new ConsensusEngine({
      ...options,
      environment: {
        ...environment,
        wal: {
          append: (entry) => {
            try {
              wal.append(entry)
            } catch {
              // That is the fault.
            }
          },
          prune: (height) => wal.prune(height),
          sync: (done) => wal.sync(() => done()),
        },
      },
    })
  },
}
