import { isatty } from 'node:tty'
import { type DestinationStream, destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { prettyFactory } from 'pino-pretty'
import type { LogConfig } from '../config/config.ts'

export type { Logger } from 'pino'

const STDOUT = 1

/**
 * The root logger of one thread; parts take a child (`logger.child({ part: 'rpc' })`).
 *
 * Every thread makes its own and writes whole lines to the same descriptor synchronously: lines of several threads do not mix, a
 * crash loses none, and no thread waits for another's event loop. A reader that stops reading blocks the writer; when it closes the
 * pipe, only the lines are lost.
 * @param fd file descriptor that the lines are written to, of the process and so the same in every thread
 */
export function createLogger(config: LogConfig, fields: Readonly<Record<string, unknown>> = {}, fd = STDOUT): Logger {
  const isHuman = config.format === 'human' || (config.format === 'auto' && isatty(fd))
  return pino(
    {
      level: config.level,
      // Neither the process ID nor the host name: a collector of several machines' logs adds them.
      base: fields,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: stdSerializers.err },
    },
    isHuman ? humanStream(fd) : jsonStream(fd),
  )
}

function jsonStream(fd: number): ReturnType<typeof destination> {
  const stream = destination({ fd, sync: true })
  stream.on('error', ignoreClosedPipe)
  return stream
}

function humanStream(fd: number): DestinationStream {
  const lines = jsonStream(fd)
  const format = prettyFactory({
    colorize: isatty(fd),
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'part,thread',
    messageFormat: (log, key) => `${log.part === undefined ? '' : `${String(log.part)}: `}${String(log[key])}`,
    singleLine: true,
  })
  return { write: (line) => lines.write(format(line)) }
}

/** Ignores that the reader of the log has closed the pipe: the node continues without a log. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
