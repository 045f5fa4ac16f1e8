import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { rpc, until } from '../e2e/rpc.ts'
import { runCoind } from '../e2e/runCoind.ts'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { describeChain, readChain } from './compareChains.ts'
import { Facts, lostTransactions } from './facts.ts'
import { type Load, type Random, startLoad } from './load.ts'
import { SignedMessages } from './signedMessages.ts'

/** Milliseconds under load before a kill. */
const MAX_LOAD_MS = 2_500
/** One of this many kills hits a node that is still starting. */
const START_KILLS = 6
const NEXT_BLOCK_TIMEOUT_MS = 20_000
/** Milliseconds that the last load may go on until clients were shown enough. */
const ENOUGH_TIMEOUT_MS = 60_000

interface KillOptions {
  readonly kills: number
  readonly seed: number
  readonly environment?: Readonly<Record<string, string>>
  /** what clients must have been shown at least: before the last kill the load continues until then, however slow the machine */
  readonly atLeast?: Shown
  readonly onRestart?: (restart: Restart) => void
}

/** How much clients of the node were shown. */
interface Shown {
  readonly blocks: number
  readonly receipts: number
  /** results of native transactions */
  readonly natives: number
}

/** One kill and the start after it. */
interface Restart {
  readonly kill: number
  readonly phase: 'load' | 'start'
  /** from the start of the process until it serves */
  readonly upMs: number
  /** block at the kill that a client was shown last, and the one that the node stood at when it served again */
  readonly shownHeight: number
  readonly height: number
  readonly receipts: number
}

interface KillReport extends Shown {
  readonly restarts: readonly Restart[]
  readonly signedMessages: number
  /** transactions that clients were told are accepted, in no block when the node was killed, and found after its start */
  readonly survivors: number
  /** what was lost or changed; empty when all is well */
  readonly problems: readonly string[]
}

/** Waits until the node has offered its pool what the journal had. */
export async function journalRead(node: Pick<TestNode, 'output'>): Promise<void> {
  await until("the pool's journal read", async () => node.output().includes("the pool's journal has been read"))
}

/** Ends the node's own process, whether the launcher runs it as a child or is it. */
export async function killHard(node: Pick<TestNode, 'homedir' | 'kill' | 'process'>): Promise<void> {
  const pid = Number(readFileSync(dataPaths(node.homedir).pid, 'utf8'))
  if (pid === node.process.pid) {
    await node.kill('SIGKILL')
    return
  }
  const ended = new Promise((resolve) => node.process.once('exit', resolve))
  process.kill(pid, 'SIGKILL')
  await ended
}

/**
 * Kills a node under load again and again, at random instants, and checks after each restart that nothing a client was shown
 * is lost or changed, that no key signed twice, and at the end that a fresh replay of the exported blocks gives the same chain.
 */
export async function killNode(options: KillOptions): Promise<KillReport> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-crash-'))
  try {
    return await new KillRun(options, join(directory, 'home'), join(directory, 'replay')).run()
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

class KillRun {
  readonly #options: KillOptions
  readonly #homedir: string
  readonly #replayHome: string
  /** chooses when and in which phase a kill comes */
  readonly #random: Random
  /** chooses what the clients send: how much they draw from it depends on the machine */
  readonly #loadRandom: Random
  readonly #facts = new Facts()
  readonly #signed = new SignedMessages()
  readonly #restarts: Restart[] = []
  readonly #problems: string[] = []
  #survivors = 0
  /** hashes of accepted transactions that the journal had at the last kill under load */
  #journaled: readonly string[] = []

  constructor(options: KillOptions, homedir: string, replayHome: string) {
    this.#options = options
    this.#homedir = homedir
    this.#replayHome = replayHome
    this.#random = createRandom(options.seed)
    this.#loadRandom = createRandom(options.seed + 1)
  }

  async run(): Promise<KillReport> {
    let node = await this.#start()
    for (let kill = 1; kill <= this.#options.kills && this.#problems.length === 0; kill++) {
      const load = startLoad(node, this.#facts, this.#loadRandom)
      await setTimeout(this.#random(MAX_LOAD_MS))
      const phase = kill < this.#options.kills && this.#random(START_KILLS) === 0 ? 'start' : 'load'
      if (phase === 'start') kill++
      if (kill === this.#options.kills) await this.#shownEnough(load)
      await this.#kill(node, load)
      if (phase === 'start') await this.#killStart()
      node = await this.#restart(kill, phase)
    }
    this.#problems.push(...(await this.#facts.check(node.url, true)))
    await stopCleanly(node)
    this.#signed.addFrom(this.#homedir)
    await this.#compareWithReplay()
    return {
      restarts: this.#restarts,
      blocks: this.#facts.blocks,
      receipts: this.#facts.receipts,
      natives: this.#facts.natives,
      signedMessages: this.#signed.size,
      survivors: this.#survivors,
      problems: this.#problems,
    }
  }

  async #shownEnough(load: Load): Promise<void> {
    const { blocks, receipts, natives } = this.#options.atLeast ?? { blocks: 0, receipts: 0, natives: 0 }
    const facts = this.#facts
    const hasEnough = until(
      `${blocks} blocks, ${receipts} receipts and ${natives} native transactions shown`,
      async () => facts.blocks >= blocks && facts.receipts >= receipts && facts.natives >= natives,
      ENOUGH_TIMEOUT_MS,
    )
    await Promise.race([hasEnough, load.ended])
  }

  #start(): Promise<TestNode> {
    return startNode({ homedir: this.#homedir, environment: this.#options.environment ?? {} })
  }

  async #kill(node: TestNode, load: Load): Promise<void> {
    await killHard(node)
    await load.stop()
    this.#signed.addFrom(this.#homedir)
    this.#journaled = this.#facts.takeJournaled(readFileSync(dataPaths(this.#homedir).poolJournal))
  }

  /** Kills a node while it starts: it reads the log, replays blocks, opens the database. */
  async #killStart(): Promise<void> {
    const usual = this.#restarts.at(-1)?.upMs ?? 1_000
    const afterMs = this.#random(Math.ceil(usual))
    const starting = startNode({
      homedir: this.#homedir,
      environment: this.#options.environment ?? {},
      onSpawn: (child) => void setTimeout(afterMs).then(() => child.kill('SIGKILL')),
    })
    const served = await starting.then(
      (node) => node,
      () => undefined,
    )
    if (served !== undefined) await served.kill('SIGKILL')
    this.#signed.addFrom(this.#homedir)
  }

  async #restart(kill: number, phase: Restart['phase']): Promise<TestNode> {
    const beginMs = performance.now()
    const node = await this.#start()
    const upMs = performance.now() - beginMs
    const height = Number(await rpc(node.url, 'eth_blockNumber'))
    const restart = { kill, phase, upMs, shownHeight: this.#facts.highest, height, receipts: this.#facts.receipts }
    this.#restarts.push(restart)
    this.#options.onRestart?.(restart)
    this.#problems.push(...(await this.#facts.check(node.url)))
    await journalRead(node)
    const lost = await lostTransactions(node.url, this.#journaled)
    this.#problems.push(
      ...lost.map((hash) => `transaction ${hash} was accepted, and is neither in a block nor in the pool`),
    )
    this.#survivors += this.#journaled.length
    await expectBlockAbove(node.url, height)
    return node
  }

  /** Exports the chain, imports it into an empty directory with the same genesis, and compares every block. */
  async #compareWithReplay(): Promise<void> {
    const file = `${this.#replayHome}.blocks`
    cpSync(dataPaths(this.#homedir).config, dataPaths(this.#replayHome).config, { recursive: true })
    await expectSuccess(['export', '--out', file, '--homedir', this.#homedir, '--network', 'devnet'])
    await expectSuccess(['import', file, '--homedir', this.#replayHome, '--network', 'devnet'])
    const chain = await readChain(this.#homedir, describeChain)
    const replay = await readChain(this.#replayHome, describeChain)
    if (replay.length !== chain.length) this.#problems.push(`${replay.length} of ${chain.length} blocks are replayed`)
    for (const [index, line] of chain.entries()) {
      if (replay[index] === line) continue
      this.#problems.push(`the replay differs: ${line} is ${replay[index]}`)
      break
    }
    await readChain(this.#homedir, (reader) => {
      for (let height = 1; height <= reader.headHeight; height++) {
        const signed = this.#signed.precommitted(height)
        const decided = bytesToHex(reader.blockId(height)!.hash)
        if (signed !== decided) this.#problems.push(`block ${height} is ${decided}, ${signed} was precommitted`)
      }
    })
  }
}

async function expectBlockAbove(url: string, height: number): Promise<void> {
  const deadline = Date.now() + NEXT_BLOCK_TIMEOUT_MS
  while (Number(await rpc(url, 'eth_blockNumber')) <= height) {
    if (Date.now() > deadline) throw new Error(`no block after ${height}`)
    await setTimeout(20)
  }
}

async function stopCleanly(node: TestNode): Promise<void> {
  const code = await node.kill('SIGTERM')
  if (code !== 0) throw new Error(`the node ended with code ${code}:\n${node.output()}`)
}

async function expectSuccess(args: readonly string[]): Promise<void> {
  const { code, output } = await runCoind(args)
  if (code !== 0) throw new Error(`coind ${args.join(' ')} ended with code ${code}:\n${output}`)
}
