import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createValidatorSet } from '../../../src/chain/consensus/validatorSet.ts'
import {
  type DecidedEvent,
  type SoloChain,
  type SoloDriver,
  type SoloOptions,
  startSolo,
} from '../../../src/consensus/solo.ts'
import { validatorKey } from '../../../src/consensus/validatorKey.ts'
import type { OpenWalFile } from '../../../src/consensus/wal.ts'
import type { FakeApplication } from './fakeApplication.ts'
import { VirtualClock } from './virtualClock.ts'

export const KEY = validatorKey(new Uint8Array(32).fill(42))

export const CHAIN: SoloChain = {
  chainId: 'coin_76287-1',
  genesisHash: new Uint8Array(32).fill(0x76),
  appVersion: 0,
  params: { maxBytes: 2_000_000, maxGas: 30_000_000 },
  validators: createValidatorSet([{ publicKey: KEY.publicKey, power: 10n }]),
  intervalMs: 400,
}

const directories: string[] = []

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'coind-wal-'))
  directories.push(directory)
  return directory
}

export function copyDirectory(source: string): string {
  const directory = temporaryDirectory()
  cpSync(source, directory, { recursive: true })
  return directory
}

export function removeDirectories(): void {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
}

export interface SoloRun {
  readonly driver: SoloDriver
  readonly events: DecidedEvent[]
  readonly warnings: string[]
  /** Resolves once the block of this height is decided here; rejects when the driver halts before. */
  reached(height: number): Promise<void>
  /** what `onHalt` was given */
  readonly halted: Promise<Error>
}

export interface RunSettings {
  readonly directory: string
  readonly application: FakeApplication
  readonly clock?: VirtualClock
  readonly chain?: SoloChain
  readonly key?: SoloOptions['key']
  readonly segmentBytes?: number
  readonly openFile?: OpenWalFile
}

/** Starts a driver that stops by itself only when told to. */
export async function runSolo(settings: RunSettings): Promise<SoloRun> {
  const { directory, application, chain = CHAIN, key = KEY, segmentBytes, openFile } = settings
  const clock = settings.clock ?? new VirtualClock(application.genesisTimeMs + 1000 + application.blocks.length * 400)
  const events: DecidedEvent[] = []
  const warnings: string[] = []
  const waiting: { height: number; resolve: () => void; reject: (error: Error) => void }[] = []
  const halted = Promise.withResolvers<Error>()
  const driver = await startSolo({
    application,
    key,
    chain,
    clock,
    wal: {
      directory,
      randomBytes,
      warn: (message) => warnings.push(message),
      ...(segmentBytes === undefined ? {} : { segmentBytes }),
      ...(openFile === undefined ? {} : { openFile }),
    },
    onDecided: (event) => {
      events.push(event)
      for (const waiter of waiting) if (event.decided.block.header.height >= waiter.height) waiter.resolve()
    },
    onHalt: (error) => {
      halted.resolve(error)
      for (const waiter of waiting) waiter.reject(error)
    },
  })
  return {
    driver,
    events,
    warnings,
    halted: halted.promise,
    reached: (height) => {
      if (application.blocks.length >= height) return Promise.resolve()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting.push({ height, resolve, reject })
      return promise
    },
  }
}

/** Starts, waits for the height, stops. */
export async function runUntil(height: number, settings: RunSettings): Promise<SoloRun> {
  const run = await runSolo(settings)
  await run.reached(height)
  await run.driver.stop()
  return run
}
