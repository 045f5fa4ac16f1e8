import { Command, CommanderError } from 'commander'
import { VERSION } from '../config/version.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../primitives/selfTest.ts'
import { addBackup } from './commands/backup.ts'
import { addStatus } from './commands/blockQueries.ts'
import { addExport, addImport } from './commands/blocks.ts'
import { addChainInfo } from './commands/chainInfo.ts'
import { addCompletion } from './commands/completion.ts'
import { addConsensusKey } from './commands/consensusKey.ts'
import { addReindex, addRollback } from './commands/database.ts'
import { addDevnet } from './commands/devnet.ts'
import { addCompact, addPrune } from './commands/disk.ts'
import { addDoctor } from './commands/doctor.ts'
import { addGenesis } from './commands/genesis.ts'
import { addComet, addDebug, addInit, addReset, addShowNodeId } from './commands/home.ts'
import { addKeys } from './commands/keys.ts'
import { addRepair } from './commands/repair.ts'
import { addSnapshot } from './commands/snapshot.ts'
import { addStart } from './commands/start.ts'
import { addSupervise } from './commands/supervise.ts'
import { addTestnet } from './commands/testnet.ts'
import type { NodeCommands, Terminal } from './ports.ts'

/** Exit codes as `sysexits` has them; failures of the node itself are 1. */
const EXIT_FAILED = 1
const EXIT_USAGE = 64
const EXIT_DATA = 65
const EXIT_UNAVAILABLE = 69
/** Another version has to continue: an upgrade is due. */
const EXIT_UPGRADE = 75
/** `coind supervise` cannot install the version that has to continue. */
const EXIT_NOT_INSTALLED = 78
/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130
/** Errors whose message is a line for the operator, by name. */
const OPERATOR_ERRORS: ReadonlyMap<string, number> = new Map([
  ['ConfigError', EXIT_USAGE],
  ['ListenError', EXIT_UNAVAILABLE],
  ['ThreadStartTimeout', EXIT_UNAVAILABLE],
  ['GenesisMismatch', EXIT_DATA],
  ['GenesisError', EXIT_DATA],
  ['UpgradeNeeded', EXIT_UPGRADE],
  ['WrongVersion', EXIT_DATA],
  ['VersionRefused', EXIT_NOT_INSTALLED],
  ['DecidedBlockError', EXIT_FAILED],
  ['InvariantsBroken', EXIT_DATA],
  ['DamageFound', EXIT_DATA],
  ['ProblemsFound', EXIT_FAILED],
  ['BlockFileError', EXIT_DATA],
  ['ManifestError', EXIT_DATA],
  ['SnapshotError', EXIT_DATA],
  ['FalseSnapshotError', EXIT_DATA],
  ['SnapshotUnavailableError', EXIT_UNAVAILABLE],
  ['WalError', EXIT_DATA],
  ['RecoveryError', EXIT_DATA],
  ['DatabaseError', EXIT_DATA],
  ['SyncError', EXIT_DATA],
  ['SeedRefusedError', EXIT_DATA],
  ['SeedUnavailableError', EXIT_UNAVAILABLE],
  ['NodeUnreachable', EXIT_UNAVAILABLE],
  ['NodeRefused', EXIT_FAILED],
  ['TransactionFailed', EXIT_FAILED],
  ['EvmModuleError', EXIT_UNAVAILABLE],
  ['UnsupportedRuntimeError', EXIT_UNAVAILABLE],
  ['SelfTestError', EXIT_UNAVAILABLE],
  ['Interrupted', EXIT_INTERRUPTED],
])

/**
 * Runs one command line.
 * @param args without the program's name
 * @param printError takes one line for the operator
 * @returns the exit code
 * @throws whatever is not the operator's mistake
 */
export async function runCommand(
  args: readonly string[],
  node: NodeCommands,
  terminal: Terminal,
  printError: (line: string) => void,
): Promise<number> {
  const parts: CommandParts = { node, terminal, printError }
  const program = createProgram(parts)
  const name = args[0] === 'help' ? args[1] : args[0]
  await addNativeCommands(program, name === undefined ? [] : [name], parts)
  const whole = async (): Promise<Command> => {
    const all = createProgram(parts)
    await addNativeCommands(all, ['tx', 'query'], parts)
    return all
  }
  addCompletion(program, whole, terminal)
  try {
    // Before any command: the settings of a node are read with these functions too.
    checkKnownAnswers(PRIMITIVE_ANSWERS)
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    const problem = findOperatorProblem(error)
    if (problem === undefined) throw error
    printError(problem.line)
    return problem.exitCode
  }
}

/** Parts that the commands are built from. */
interface CommandParts {
  readonly node: NodeCommands
  readonly terminal: Terminal
  readonly printError: (line: string) => void
}

/** Creates the program with the commands that are always loaded. */
function createProgram({ node, terminal, printError }: CommandParts): Command {
  const program = new Command('coind')
    .description('Full node of an EVM-compatible proof-of-stake chain')
    .showSuggestionAfterError(true)
    // A command and a group of commands of the same name have options of their own.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => terminal.print(text),
      writeErr: (text) => terminal.print(text),
      outputError: (text) =>
        printError(
          text
            .trim()
            .replace(/^error: /, '')
            .replaceAll('\n', ' '),
        ),
    })
    .exitOverride()
  for (const add of [
    addInit,
    addStart,
    addSupervise,
    addExport,
    addImport,
    addBackup,
    addRollback,
    addReindex,
    addRepair,
    addPrune,
    addCompact,
    addSnapshot,
    addGenesis,
    addChainInfo,
    addReset,
    addShowNodeId,
    addComet,
    addStatus,
    addConsensusKey,
    addVersion,
    addDebug,
    addDoctor,
    addDevnet,
    addTestnet,
    addKeys,
  ]) {
    add(program, node, terminal)
  }
  // For the list of commands alone: bin/coind.js runs explorer/run.ts, which has the flags.
  program.command('explorer').description("Run an explorer: an index of a node's chain, with an API and web pages")
  return program
}

function addVersion(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const text = `coind ${VERSION} (${terminal.platform})`
  program.version(text, '-V, --version', 'print the version')
  program
    .command('version')
    .description('Print the version')
    .action(() => terminal.print(`${text}\n`))
}

/**
 * Adds `tx` and `query`. They import all messages and queries of the native layer, so only the one that is called is loaded: other
 * commands start faster.
 */
async function addNativeCommands(
  program: Command,
  names: readonly string[],
  { node, terminal }: CommandParts,
): Promise<void> {
  if (names.includes('tx')) {
    const { addTx } = await import('./commands/tx.ts')
    addTx(program, node, terminal)
  } else {
    program.command('tx').description('Sign a native transaction on this machine and send it to a node')
  }
  if (names.includes('query') || names.includes('q')) {
    const { addQuery } = await import('./commands/query.ts')
    const { QUERIES } = await import('../rpc/cosmos/queries.ts')
    addQuery(program, node, terminal, QUERIES)
  } else {
    program.command('query').alias('q').description('Query the native layer of a node; prints JSON')
  }
}

/** Fields of the errors that an operator can do something about: the node's own errors, and system errors. */
interface OperatorError extends NodeJS.ErrnoException {
  /** of the node that `coind supervise` ran */
  readonly exitCode?: number
}

/** Returns the problem of the error or of its cause: when a thread fails, the reason is the cause of the error. */
function findOperatorProblem(error: unknown): ReturnType<typeof operatorProblem> {
  for (let at = error; at instanceof Error; at = at.cause) {
    const problem = operatorProblem(at as OperatorError)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Returns the line for the operator and the exit code; undefined for a failure that needs its stack trace. */
function operatorProblem(error: OperatorError): { readonly line: string; readonly exitCode: number } | undefined {
  // By name: an error that comes from another thread has lost its class.
  const exitCode = error.name === 'NodeEnded' ? error.exitCode : OPERATOR_ERRORS.get(error.name)
  if (exitCode !== undefined) return { line: error.message, exitCode }
  const { code, path } = error
  if (code === undefined || path === undefined) return undefined
  const problem = FILE_PROBLEMS.get(code)
  return { line: problem === undefined ? error.message : `${path} ${problem}`, exitCode: EXIT_UNAVAILABLE }
}

/** Texts that follow the path, for errors that a mistake in a path causes. */
const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['EEXIST', 'already exists: name another one, or move it away'],
  ['ENOENT', 'does not exist, or its parent directory does not'],
  ['ENOTDIR', 'cannot exist: a part of its path is not a directory'],
  ['EISDIR', 'is a directory, but a file is needed'],
  ['EACCES', 'cannot be used: permission denied for this user'],
  ['EROFS', 'cannot be written: its file system is read-only'],
])
