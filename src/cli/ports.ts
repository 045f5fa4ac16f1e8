import type { FundedAccount } from '../chain/genesis/createGenesis.ts'
import type { Config } from '../config/config.ts'
import type { InvariantReport } from '../datadir/checkInvariants.ts'
import type { Reindexed } from '../datadir/reindex.ts'
import type { Repaired } from '../datadir/repair/repairDatabase.ts'
import type { Pruned } from '../execution/pruner.ts'
import type { Finding } from '../operator/doctor/finding.ts'
import type { MadeSnapshot } from '../snapshot/makeSnapshot.ts'
import type { ShelvedSnapshot } from '../snapshot/shelf.ts'
import type { VerifiedSnapshot } from '../snapshot/verifySnapshot.ts'
import type { LedgerTransport } from './keys/ledger.ts'

export interface StartOptions {
  /** minted on top of the initial supply if the start creates the genesis (development networks) */
  readonly fundedAccounts?: readonly FundedAccount[]
  /** the operator says that no other process signs with the key any more, although this directory is a copy */
  readonly signerMoved?: boolean
  /** ends the start at any step; it then undoes what it has begun and rejects with the signal's reason */
  readonly signal?: AbortSignal
  /** whether FORCE_SNAPSHOT_RESTORE may replace the database by one of a lower height */
  readonly allowsOlder?: boolean
  /** Called when the node has stopped except for busy threads: the process has to end without waiting for them. */
  readonly onThreadsLeft?: () => void
}

/** A node that serves its ports. */
export interface RunningNode {
  /** http://host:port/ as this machine can reach it */
  readonly rpcUrl: string
  /** ws://host:port/ws */
  readonly wsUrl: string
  /** undefined when METRICS_PORT is 0 */
  readonly metricsUrl: string | undefined
  /** of the newest block when the node came up */
  readonly height: number
  /** resolves after `stop`; rejects when a part of the node failed, after the rest was stopped */
  readonly ended: Promise<void>
  /** Stops cleanly. Calling it again waits for the same stop. */
  stop(): Promise<void>
}

/** An explorer of `coind devnet`. */
export interface RunningExplorer {
  /** http://host:port/ as this machine can reach it */
  readonly url: string
  /** Stops it; resolves when it has ended. */
  stop(): Promise<void>
}

export interface InitReport {
  /** whether the genesis was created now */
  readonly isFresh: boolean
  readonly genesisPath: string
  /** 64 hex digits */
  readonly genesisHash: string
  readonly chainId: string
  readonly nodeId: string
  readonly warnings: readonly string[]
}

export interface ExportOptions {
  /** path of the file to write */
  readonly out: string
  /** first block; 1 by default */
  readonly from?: number
  /** last block; the head by default */
  readonly to?: number
  /** ends the export, which then leaves no file and rejects with the signal's reason */
  readonly signal: AbortSignal
}

export interface DirectoryExportOptions {
  /** path of the directory, which may have blocks already */
  readonly out: string
  /** last block; by default the last one of the newest complete segment */
  readonly to?: number
  /** addresses of the same files elsewhere; by default those that the directory's manifest names */
  readonly mirrors?: readonly string[]
  /** ends the export, which then rejects with the signal's reason, and can be continued */
  readonly signal: AbortSignal
}

export interface DirectoryExport {
  /** `to` < `from`: there were no new ones */
  readonly added: BlockRange
  readonly all: BlockRange
}

export interface ImportOptions {
  /** path of what an export wrote, or address of such a directory */
  readonly place: string | URL
  /** ends the import after the block under way; it then resolves with what was imported */
  readonly signal: AbortSignal
}

export interface RollbackOptions {
  /** the block that becomes the newest */
  readonly to: number
  /** path of a file to which the blocks above it are written first */
  readonly save?: string
  /** ends the rollback after the block under way; while it saves blocks, that leaves no file and rejects with the signal's reason */
  readonly signal: AbortSignal
}

export interface CreateSnapshotOptions {
  /** path of the directory to make */
  readonly out: string
  /** block after which the state is taken; by default the newest that can be */
  readonly height?: number
  /** addresses of the same files elsewhere */
  readonly mirrors: readonly string[]
  /** ends the making, which then leaves nothing and rejects with the signal's reason */
  readonly signal: AbortSignal
}

export interface BackupOptions {
  /** path of the directory to make */
  readonly out: string
  /** whether it has the keys of validator and node, and what the signer remembers */
  readonly withKeys: boolean
  /** ends the backup, which then leaves nothing and rejects with the signal's reason */
  readonly signal: AbortSignal
}

export interface BackupReport {
  /** of the newest block in it */
  readonly height: number
}

export interface RepairOptions {
  /** directories and addresses where whole files of old blocks may be */
  readonly from: readonly (string | URL)[]
  /** whether nothing is changed */
  readonly isDryRun: boolean
  /** whether a damaged database is replaced by a snapshot, whatever could be mended in it */
  readonly prefersSnapshot: boolean
  /** receives the damage and the planned steps, before anything is changed; not called without damage */
  readonly onPlan: (found: readonly string[], steps: readonly string[]) => void
  /** ends it; it then rejects with the signal's reason, and a later call continues */
  readonly signal: AbortSignal
}

/** Blocks that an export or an import handled; `to` < `from` when there was none. */
export interface BlockRange {
  readonly from: number
  readonly to: number
}

/** Bytes of the files of a database. */
export interface Compacted {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

export interface SuperviseCommand {
  /** absolute path */
  readonly homedir: string
  readonly log: Config['log']
  /** of `coind start` */
  readonly flags: readonly string[]
  /** of the node */
  readonly environment: Terminal['environment']
  /** `name=64 hex digits` */
  readonly sha256: readonly string[]
  /** stops the node */
  readonly signal: AbortSignal
}

/** Functions of the node that the commands need: `main.ts` provides them, tests pass their own. */
export interface NodeCommands {
  startNode(config: Config, options: StartOptions): Promise<RunningNode>
  /**
   * Starts an explorer with these variables as its own process, which ends with this one.
   * @param signal ends it, also before it serves
   * @returns the explorer when it serves, or why it does not
   */
  startExplorer(variables: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RunningExplorer | string>
  /** Runs the node as its own process until it is stopped, and changes its version at upgrades. */
  supervise(command: SuperviseCommand): Promise<void>
  initNode(config: Config, options: StartOptions): Promise<InitReport>
  exportBlocks(config: Config, options: ExportOptions): Promise<BlockRange>
  /** Writes blocks to a directory for web servers, even while the node runs. */
  exportDirectory(config: Config, options: DirectoryExportOptions): Promise<DirectoryExport>
  importBlocks(config: Config, options: ImportOptions): Promise<BlockRange>
  /** Copies a data directory, even while a node runs there. */
  backUp(config: Config, options: BackupOptions): Promise<BackupReport>
  /** Undoes the newest blocks of a stopped node. @returns the newest block before and after */
  rollback(config: Config, options: RollbackOptions): Promise<BlockRange>
  /**
   * Applies PRUNING, BLOCK_HISTORY and INDEX to the database of a stopped node.
   * @param signal ends it; it then rejects with the signal's reason, and a later call continues
   */
  pruneDatabase(config: Config, signal: AbortSignal): Promise<Pruned>
  /**
   * Rebuilds the indexes of a stopped node from its blocks.
   * @param signal ends it; it then rejects with the signal's reason, and a later call continues
   * @returns the errors that were found and corrected
   */
  reindexDatabase(config: Config, signal: AbortSignal): Promise<Reindexed>
  /** Finds all damage in the database of a stopped node, and repairs it where possible. */
  repairDatabase(config: Config, options: RepairOptions): Promise<Repaired>
  /**
   * Merges the files of the database of a stopped node.
   * @param signal ends it after the part under way; it then rejects with the signal's reason
   */
  compactDatabase(config: Config, signal: AbortSignal): Promise<Compacted>
  /** hex(sha256(ed25519 public key)[:20]) of the node key, which is created when it is absent */
  showNodeId(config: Config): Promise<string>
  /** Looks for what keeps a node with these settings from its work, even while it runs. @returns findings by what was examined */
  examineNode(config: Config): Promise<ReadonlyMap<string, readonly Finding[]>>
  /** Checks the newest state in the data directory, even while a node runs there. */
  checkInvariants(config: Config): Promise<InvariantReport>
  /** Makes a snapshot of the state in the data directory, even while a node runs there. */
  createSnapshot(config: Config, options: CreateSnapshotOptions): Promise<MadeSnapshot & { readonly height: number }>
  /** Checks the snapshot in a directory, or at a URL. */
  verifySnapshot(config: Config, place: string | URL, signal: AbortSignal): Promise<VerifiedSnapshot>
  /** the snapshots that the node has made, the newest first */
  listSnapshots(config: Config): Promise<readonly ShelvedSnapshot[]>
}

/** The process around the commands. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingDirectory: string
  readonly homeDirectory: string
  readonly processId: number
  /** of Node.js and of the machine, for `coind version` */
  readonly platform: string
  print(text: string): void
  /** Prints while a node runs in this process: a reader that has stopped does not stop the node, and may miss the text. */
  announce(text: string): void
  /**
   * Asks a person for a secret.
   * @param instead how to give it where there is no terminal
   * @throws ConfigError where there is no terminal
   */
  readSecret(question: string, instead: string): Promise<string>
  /** Opens the Ledger that is connected. @throws ConfigError when no Ledger is connected */
  openLedger(): Promise<LedgerTransport>
  /** milliseconds of a steady clock */
  now(): number
  /** Calls `handler` for each SIGTERM and SIGINT from now on; before, these end the process at once. */
  onStopSignal(handler: () => void): void
  /** Ends the process at once, whatever its threads do. */
  exitNow(code: number): never
}
