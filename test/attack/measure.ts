import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { familyMs, machineMs, residentMegabytes } from '../../bench/measure/processUsage.ts'
import { BlockIntervals } from '../e2e/network/blockIntervals.ts'
import type { LocalNetwork, NetworkNode } from '../e2e/network/localNetwork.ts'
import { type Attack, missingWork, type Scene, type SceneReport, type Target } from './attack.ts'
import type { AttackerOptions, AttackerReport } from './attacker.ts'
import { type ClientReport, startGoodClient } from './goodClient.ts'
import type { Place } from './place.ts'

/** What is measured, and how. */
export interface Measured {
  readonly network: LocalNetwork
  readonly attacked: NetworkNode
  readonly place: Place
  readonly target: Target
  readonly seconds: number
  /** seconds after each attack, until memory is read again */
  readonly rest: number
  /** of the usual size of each attack */
  readonly share: number
  /** niceness of the attackers */
  readonly niceness: number
}

export interface Figures {
  /** processors that programs other than nodes and attackers had */
  readonly othersShare: number
  readonly processorShare: number
  readonly intervals: BlockIntervals
  /** from ten seconds after the attack on */
  readonly later: BlockIntervals
  readonly client: ClientReport
  /** megabytes of the attacked node before, at most, and after the rest */
  readonly memory: readonly [number, number, number]
  /** connections between honest nodes that ended meanwhile */
  readonly brokenLinks: number
  /** of a single attack */
  readonly counts: Readonly<Record<string, number>>
  /** attacks that did not run, and what they lack; what a scene found wrong */
  readonly failures: readonly string[]
  /** of a scene */
  readonly text: string
}

interface Attacker {
  begin(): void
  end(): Promise<AttackerReport>
}

const ATTACKER = new URL('attacker.ts', import.meta.url).pathname
export const CALM_MS = 10_000
/** The first moments are those of the attackers' own connections. */
const OPENING_MS = 2_000
const LOOK_MS = 1_000
/** A scene that takes longer is given up. */
const SCENE_MS = 100_000
const ENDED = /peer disconnected/

/** Each attacker of a run has its number, and by it its addresses. */
let lastRow = 0

export const sizeOf = (attack: Attack, share: number): number => Math.max(1, Math.round(attack.size * share))

/** Starts the process of an attack, which prepares and waits. */
async function startAttacker(attack: Attack, { place, target, share, niceness }: Measured): Promise<Attacker> {
  const { isLoopback, within } = place
  const size = sizeOf(attack, share)
  const options: AttackerOptions = { attack: attack.name, size, niceness, target, row: lastRow++, isLoopback }
  const [program, ...args] = [...within, process.execPath, ATTACKER]
  const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.write(`${JSON.stringify(options)}\n`)
  const lines: Interface = createInterface(child.stdout)
  const ended = once(child, 'exit')
  const report = new Promise<AttackerReport>((resolve) => {
    lines.on('line', (line) => {
      if (line.startsWith('{')) resolve(JSON.parse(line) as AttackerReport)
    })
  })
  await Promise.race([once(lines, 'line'), ended])
  if (child.exitCode !== null) throw new Error(`the attacker of ${attack.name} ended with ${child.exitCode}`)
  return {
    begin: () => void child.stdin.write('\n'),
    end: async () => {
      child.stdin.end()
      await ended
      return report
    },
  }
}

/** NaN while it does not run. */
const megabytes = (node: NetworkNode): number =>
  node.isRunning() ? Math.round(residentMegabytes(node.running.process.pid!)) : Number.NaN

/** How often a connection between two of the nodes has ended, as both of them tell. */
function brokenLinks({ nodes }: LocalNetwork): number {
  const ids = nodes.map(({ nodeId }) => nodeId)
  const running = nodes.filter((node) => node.isRunning())
  const lines = running.flatMap((node) => node.running.output().split('\n'))
  return lines.filter((line) => ENDED.test(line) && ids.some((id) => line.includes(id))).length
}

/** Measures for a while, with these attacks. */
export async function measure(attacks: readonly Attack[], measured: Measured): Promise<Figures> {
  const { network, attacked, rest } = measured
  const { seed } = network
  const attackers = await Promise.all(attacks.map((attack) => startAttacker(attack, measured)))
  const [before, linksBefore] = [megabytes(attacked), brokenLinks(network)]
  for (const attacker of attackers) attacker.begin()
  await sleep(OPENING_MS)
  const intervals = new BlockIntervals(seed, await seed.height())
  const client = startGoodClient(attacked)
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, megabytes(attacked) || 0)
  }, LOOK_MS)
  const [machineBefore, ownBefore, fromMs] = [machineMs(), familyMs(process.pid), performance.now()]
  const scene = await act(attacks, measured)
  const othersMs = machineMs() - machineBefore - (familyMs(process.pid) - ownBefore)
  const othersShare = Math.max(0, othersMs / (performance.now() - fromMs))
  clearInterval(watch)
  const report = await client.stop()
  await intervals.follow()
  await intervals.countOpen()
  const links = brokenLinks(network) - linksBefore
  const reports = await Promise.all(attackers.map((attacker) => attacker.end()))
  await sleep(Math.min(CALM_MS, rest * 1_000))
  const later = new BlockIntervals(seed, await seed.height())
  await sleep(Math.max(0, rest * 1_000 - CALM_MS))
  await later.follow()
  if (rest * 1_000 > CALM_MS) await later.countOpen()
  const failures = attacks.flatMap((attack, index) =>
    missingWork(attack, reports[index]!.counts).map((what) => `attack did not run: ${what} (${attack.name})`),
  )
  const isScene = attacks.some(({ meanwhile }) => meanwhile !== undefined)
  if (links > 0 && !isScene) failures.push(`${links} connections between honest nodes ended`)
  return {
    othersShare,
    processorShare: reports.reduce((sum, { processorShare }) => sum + processorShare, 0),
    intervals,
    later,
    client: report,
    memory: [before, most, megabytes(attacked)],
    brokenLinks: links,
    counts: reports.length > 1 ? {} : (reports[0]?.counts ?? {}),
    failures: [...failures, ...scene.failures],
    text: scene.text,
  }
}

/** The time that the attack lasts: that of its scene, or the usual one. */
async function act(attacks: readonly Attack[], { network, attacked, place, seconds }: Measured): Promise<SceneReport> {
  const meanwhile = attacks.length === 1 ? attacks[0]!.meanwhile : undefined
  if (meanwhile === undefined) {
    await sleep(Math.max(seconds, ...attacks.map((attack) => attack.seconds ?? 0)) * 1_000)
    return { text: '', failures: [] }
  }
  const scene: Scene = {
    network,
    attacked,
    signal: AbortSignal.timeout(SCENE_MS),
    start: (node) => node.start(place.variablesOf(network, node)),
  }
  try {
    return await meanwhile(scene)
  } catch (error) {
    if (!scene.signal.aborted) throw error
    return { text: 'the scene did not end', failures: [`the scene did not end in ${SCENE_MS} ms`] }
  }
}
