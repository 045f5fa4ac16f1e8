import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { ValidatorSet } from '../../../chain/comet/types.ts'
import type { Application } from '../../../consensus/application.ts'
import { systemClock } from '../../../consensus/clock.ts'
import { createClockWatch } from '../../../consensus/clockWatch.ts'
import type { ConsensusKey } from '../../../consensus/consensusKey.ts'
import { type ConsensusService, type DecidedEvent, openConsensusService } from '../../../consensus/consensusService.ts'
import { engineChainOf } from '../../../consensus/consensusState.ts'
import { createKeyAlarm } from '../../../consensus/doubleSignGuard.ts'
import { openEvidenceFiles } from '../../../consensus/evidenceStore.ts'
import { decidesAlone } from '../../../consensus/recovery.ts'
import type { RoundEventSink } from '../../../consensus/roundEvents.ts'
import { STEPS } from '../../../consensus/roundStateView.ts'
import { readCopyMark } from '../../../datadir/copyMark.ts'
import { bytesToHex, bytesToUpperHex, equalBytes } from '../../../primitives/bytes.ts'
import { createCommitVerifier } from '../../../sync/blocks/commitChecks.ts'
import { followNode } from '../../../sync/blocks/followNode.ts'
import type { SyncStatus } from '../../../sync/blocks/syncStatus.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { ConsensusMetrics } from '../../../telemetry/metrics.ts'
import type { RoundTraces } from '../../../telemetry/spans.ts'
import type { Home } from '../../start/openHome.ts'
import type { Threads } from '../../start/startThreads.ts'
import { despiteStops } from '../../wire/port.ts'
import { createSenderRecovery } from '../socket/viewPool.ts'
import type { Decisions } from './followDecisions.ts'
import type { NetworkTransport } from './networkTransport.ts'
import type { OwnSigning } from './ownSigning.ts'

/** Version of the application's rules, which headers name. */
const APP_VERSION = 0
/** CometBFT's names of the steps, by number. */
const STEP_NAMES = new Map(Object.entries(STEPS).map(([name, step]) => [step, name]))

interface ConsensusParts {
  readonly home: Home
  readonly application: Application
  readonly transport: NetworkTransport
  readonly views: Threads['views']
  readonly decisions: Decisions
  readonly metrics: ConsensusMetrics
  readonly ownSigning: OwnSigning
  /** undefined: no spans are recorded */
  readonly traces: RoundTraces | undefined
  /** for clients that subscribe to them */
  readonly roundEvents: RoundEventSink
  readonly logger: Logger
  readonly onSyncStatus: (status: SyncStatus) => void
  /** consensus or block sync cannot continue */
  readonly onHalt: (error: Error) => void
  /** ends the replay of the write-ahead log */
  readonly signal: AbortSignal
}

export interface RunningConsensus {
  readonly service: ConsensusService
  /** Ends block sync, then consensus, and closes the write-ahead log. */
  stop(): Promise<void>
}

/**
 * Starts consensus and block sync in the main thread:
 *
 * 1. Opens consensus, which first executes the blocks that its write-ahead log holds and the database lacks. No messages of peers arrive yet,
 *    and there is no follower to notify of these blocks.
 * 2. Passes the network the validators of the newest block, for which it reserves connections.
 * 3. Makes the follower, which decides whether the node syncs blocks or takes part in consensus.
 * 4. Listens to the network, whose events go to both. What has arrived since the threads started waits until now.
 * 5. Starts the follower, which may ask peers for blocks at once.
 * @throws WalError, RecoveryError, or what the application throws; the signal's reason
 */
export async function startConsensus(parts: ConsensusParts): Promise<RunningConsensus> {
  const { home, application, transport, decisions, metrics, traces, onHalt } = parts
  const { paths, chain, validatorKeys, ownKey, signerPort } = home
  if (signerPort === undefined && ownKey === undefined) throw new Error('the home was opened without its consensus key')
  const log = parts.logger.child({ part: 'consensus' })
  const syncLog = parts.logger.child({ part: 'sync' })

  const copy = readCopyMark(paths.copyMark)
  let presentKey = validatorKeys.address
  /** The next height has another key: the rotation acts. */
  const noteKey = (): void => {
    if (equalBytes(presentKey, validatorKeys.address)) return
    presentKey = validatorKeys.address
    log.info({ address: bytesToHex(presentKey) }, "the validator's consensus key has changed")
  }
  let reserved: ValidatorSet['validators'] | undefined
  /** Has the network reserve connections for the validators of the newest block. */
  const reservePlaces = ({ validators }: ValidatorSet): void => {
    if (validators === reserved) return
    reserved = validators
    transport.setValidators(validators.map(({ address }) => address))
  }

  // 1. Its callbacks use the follower of step 3, which starts consensus: until then only blocks of the write-ahead log are decided.
  const service = await openConsensusService({
    application,
    keys: validatorKeys,
    chain: engineChainOf(chain, APP_VERSION, home.maxGas),
    wal: { directory: paths.wal, randomBytes, warn: (message, fields) => log.warn(fields, message) },
    evidenceStore: openEvidenceFiles(join(paths.wal, 'evidence')),
    copy,
    signal: parts.signal,
    clock: systemClock,
    transport,
    onDecided: (event) => {
      decisions.onDecided(event)
      if (event.source === 'consensus' && traces !== undefined) traceDecision(traces, event)
      noteKey()
      if (event.source === 'log') return
      parts.ownSigning.decided(event.decided.block, service.state)
      if (event.source === 'consensus') follower.decided()
      reservePlaces(service.state.validators)
    },
    onHalt,
    onBehind: (_, peerHeight) => follower.onBehind(peerHeight),
    onUnknownSignature: createKeyAlarm(systemClock, log, () => metrics.unknownSignatures.inc()),
    onWrongAnswer: (reason) => signerPort?.key.wrongAnswer(reason),
    onTimedProposal: createClockWatch({
      timing: chain.timing,
      clock: systemClock,
      log,
      onOffset: (offsetMs) => metrics.clockOffsetSeconds.set(offsetMs / 1000),
    }),
    onStep: traces && ((height, round, step) => traces.entered({ height, round, step: STEP_NAMES.get(step)! })),
    roundEvents: parts.roundEvents,
    onBuildBudget: (budgetMs) => metrics.buildBudgetSeconds.set(budgetMs / 1000),
    log: (message, fields) => log.debug(fields, message),
  })

  presentKey = validatorKeys.address
  parts.ownSigning.begin(service.state)
  signerPort?.key.onAvailable(() => service.resumeSigning())
  if (copy !== undefined) warnOfCopy(log, service.state.validators, validatorKeys.keyIn(service.state.validators))

  // 2.
  reservePlaces(service.state.validators)

  // 3.
  const follower = followNode({
    consensus: service,
    transport,
    // A copy waits for peers, even where it alone could decide.
    get ownAddress() {
      return copy === undefined ? validatorKeys.address : undefined
    },
    verifyCommits: createCommitVerifier(
      parts.views.map((view) => (packed) => despiteStops(() => view.checkCommits(packed))),
    ),
    recoverSenders: createSenderRecovery(parts.views),
    nowMs: () => systemClock.monotonicMs(),
    setTimer: systemClock.setTimer,
    log: (level, message, fields) => syncLog[level](fields, message),
    onStatus: parts.onSyncStatus,
    onHalt,
  })

  // 4.
  transport.listen({
    peerJoined: (peer) => {
      service.events.peerJoined(peer)
      follower.peerJoined(peer)
    },
    peerLeft: (peer) => {
      service.events.peerLeft(peer)
      follower.peerLeft(peer)
    },
    message: (from, message) => {
      service.events.message(from, message)
      follower.message(from, message)
    },
    evidence: (from, evidence) => service.events.evidence(from, evidence),
  })

  // 5.
  follower.start()

  return {
    service,
    stop: async () => {
      await follower.stop()
      await service.close()
    },
  }
}

function traceDecision(traces: RoundTraces, { decided: { block, seenCommit }, timings }: DecidedEvent): void {
  traces.decided(block.header.height, {
    'coind.transactions': block.txs.length,
    'coind.round': seenCommit.round,
    'coind.proposer': bytesToUpperHex(block.header.proposerAddress),
    'coind.log_ms': timings.logMs,
  })
}

/** Warns that the directory is a copy, and says when its validator signs, if the node has one. */
function warnOfCopy(
  log: Logger,
  validators: ValidatorSet,
  { address, publicKey }: Pick<ConsensusKey, 'address' | 'publicKey'>,
): void {
  if (decidesAlone(validators, publicKey)) {
    log.warn(
      'this directory is a copy, so its validator signs nothing, and no other can decide blocks: when the original is stopped ' +
        'permanently, run coind start --signer-moved',
    )
  } else if (validators.validators.some((validator) => equalBytes(validator.address, address))) {
    log.warn('this directory is a copy: its validator signs nothing until blocks are decided without its key')
  }
}
