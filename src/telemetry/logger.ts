import { isatty } from 'node:tty'
import { type Logger, type LoggerOptions, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { prettyFactory } from 'pino-pretty'
import type { LogConfig } from '../config/config.ts'
import { createLineWriter } from './lineWriter.ts'

export type { Logger } from 'pino'

const STDOUT = 1

/**
 * Creates the root logger of one thread; parts take a child (`logger.child({ part: 'rpc' })`).
 *
 * Every thread makes its own logger and writes whole lines to the same descriptor at once. So lines of several threads do not mix,
 * a crash loses no line that the reader took, and no thread waits for another's event loop. A reader that stops reading delays no
 * thread: see `createLineWriter`. When it closes the pipe, only the lines are lost. `flush` writes buffered lines before a thread ends.
 * @param fd file descriptor that the lines are written to, of the process and so the same in every thread
 */
export function createLogger(config: LogConfig, fields: Readonly<Record<string, unknown>> = {}, fd = STDOUT): Logger {
  const isHuman = config.format === 'human' || (config.format === 'auto' && isatty(fd))
  const options: LoggerOptions = {
    level: config.level,
    // Neither the process ID nor the host name: a collector of several machines' logs adds them.
    base: fields,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: stdSerializers.err },
  }
  const writer = createLineWriter(fd, (dropped) =>
    reports.warn({ dropped }, 'lines of the log were dropped: its reader was too slow'),
  )
  const format = isHuman ? humanFormat(fd) : (line: string): string => line
  const stream = {
    // Has pino set `lastLevel` before each line.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write: (line: string) => writer.write(format(line), stream.lastLevel),
    flush: () => writer.flush(),
  }
  /** says how much is missing whatever the level is */
  const reports = pino({ ...options, level: 'warn' }, stream)
  return pino(options, stream)
}

function humanFormat(fd: number): (line: string) => string {
  return prettyFactory({
    colorize: isatty(fd),
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'part,thread',
    messageFormat: (log, key) => `${log.part === undefined ? '' : `${String(log.part)}: `}${String(log[key])}`,
    singleLine: true,
  })
}
