import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { ValidatorSet } from '../chain/consensus/types.ts'
import type { Application } from '../consensus/application.ts'
import { systemClock } from '../consensus/clock.ts'
import { type ConsensusService, openConsensusService } from '../consensus/consensusService.ts'
import { engineChainOf } from '../consensus/engineChain.ts'
import { openEvidenceFiles } from '../consensus/evidencePoolFiles.ts'
import { createKeyAlarm } from '../consensus/keyAlarm.ts'
import { createCommitVerifier } from '../sync/commitVerifier.ts'
import { followNode, type NodeFollower } from '../sync/followNode.ts'
import type { SyncStatus } from '../sync/syncStatus.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { ConsensusMetrics } from '../telemetry/metrics/consensusMetrics.ts'
import type { Decisions } from './followDecisions.ts'
import type { NetworkTransport } from './networkTransport.ts'
import type { Home } from './openHome.ts'
import { createSenderRecovery } from './senderRecovery.ts'
import type { Threads } from './startThreads.ts'

/** Version of the application's rules, which headers name. */
const APP_VERSION = 0

export interface ConsensusParts {
  readonly home: Home
  readonly application: Application
  readonly transport: NetworkTransport
  readonly views: Threads['views']
  readonly decisions: Decisions
  readonly metrics: ConsensusMetrics
  readonly logger: Logger
  readonly onSyncStatus: (status: SyncStatus) => void
  /** consensus or block sync cannot go on */
  readonly onHalt: (error: Error) => void
}

export interface RunningConsensus {
  readonly service: ConsensusService
  readonly follower: NodeFollower
  /** Ends block sync, then consensus, and closes the log. */
  stop(): Promise<void>
}

/**
 * Opens consensus, executes what its log holds and the database lacks, and lets the follower decide whether to sync blocks or to
 * take part. The network's events go to both.
 * @throws WalError, RecoveryError, or what the application throws
 */
export async function startConsensus(parts: ConsensusParts): Promise<RunningConsensus> {
  const { home, application, transport, decisions, metrics, onHalt } = parts
  const { paths, chain, validatorKey } = home
  const log = parts.logger.child({ part: 'consensus' })
  const syncLog = parts.logger.child({ part: 'sync' })
  const service = await openConsensusService({
    application,
    key: validatorKey,
    chain: engineChainOf(chain, APP_VERSION, home.maxGas),
    wal: { directory: paths.wal, randomBytes, warn: (message, fields) => log.warn(fields, message) },
    evidenceStore: openEvidenceFiles(join(paths.wal, 'evidence')),
    clock: systemClock,
    transport,
    onDecided: (event) => {
      decisions.onDecided(event)
      if (event.source === 'log') return
      if (event.source === 'consensus') follower.decided()
      reserveValidators(service.state.validators)
    },
    onHalt,
    onBehind: (_, peerHeight) => follower.onBehind(peerHeight),
    onUnknownSignature: createKeyAlarm(systemClock, log, () => metrics.unknownSignatures.inc()),
    note: (message, fields) => log.debug(fields, message),
  })

  let reserved: ValidatorSet['validators'] | undefined
  const reserveValidators = ({ validators }: ValidatorSet): void => {
    if (validators === reserved) return
    reserved = validators
    transport.setValidators(validators.map(({ address }) => address))
  }
  reserveValidators(service.state.validators)

  const follower = followNode({
    consensus: service,
    transport,
    ownAddress: validatorKey.address,
    verifyCommits: createCommitVerifier(parts.views.map((view) => (packed) => view.checkCommits(packed))),
    recoverSenders: createSenderRecovery(parts.views),
    nowMs: () => systemClock.monotonicMs(),
    setTimer: systemClock.setTimer,
    log: (level, message, fields) => syncLog[level](fields, message),
    onStatus: parts.onSyncStatus,
    onHalt,
  })
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
  follower.start()
  return {
    service,
    follower,
    stop: async () => {
      await follower.stop()
      await service.close()
    },
  }
}
