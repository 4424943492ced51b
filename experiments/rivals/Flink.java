import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/**
 * A sequence by Flink CEP in a small cluster inside this process.
 *
 * <p>Columns are raw 64-bit integers: the types from 1, and the key as one number; the time is the
 * number of the row. A line on standard input runs the query, and a line on standard output says
 * how many matches there are, the sum of their rows, and how many different first ones.
 */
public final class Flink {
  static long[] codes;
  static long[] keys;
  static final List<long[]> found = new ArrayList<>();

  /** An event, as Flink sends it from one task to another. */
  public static final class Event {
    public long row;
    public long code;
    public long key;

    public Event() {}

    Event(long row) {
      this.row = row;
      this.code = codes[(int) row];
      this.key = keys[(int) row];
    }
  }

  /** Keeps the rows of a match where the program finds them when the job has ended. */
  static final class Keep extends PatternProcessFunction<Event, Integer> {
    private final String[] names;

    Keep(String[] names) {
      this.names = names;
    }

    @Override
    public void processMatch(Map<String, List<Event>> match, Context context, Collector<Integer> out) {
      long[] rows = new long[names.length];
      for (int at = 0; at < names.length; at++) {
        rows[at] = match.get(names[at]).get(0).row;
      }
      synchronized (found) {
        found.add(rows);
      }
    }
  }

  static Pattern<Event, ?> pattern(int steps, int negated, long window) {
    Pattern<Event, Event> pattern =
        Pattern.<Event>begin("1", AfterMatchSkipStrategy.noSkip()).where(type(1));
    for (int number = 2; number <= steps; number++) {
      String name = Integer.toString(number);
      pattern = number == negated ? pattern.notFollowedBy(name) : pattern.followedByAny(name);
      pattern = pattern.where(type(number));
    }
    return pattern.within(Duration.ofMillis(window));
  }

  static SimpleCondition<Event> type(long number) {
    return SimpleCondition.of(event -> event.code == number);
  }

  static void run(Pattern<Event, ?> pattern, String[] names, int threads) throws Exception {
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(threads, new Configuration());
    environment.getConfig().enableObjectReuse();
    DataStream<Event> events =
        environment
            .fromSequence(0, codes.length - 1)
            .setParallelism(1)
            .map(Event::new)
            .returns(Event.class)
            .setParallelism(1)
            .assignTimestampsAndWatermarks(
                WatermarkStrategy.<Event>forMonotonousTimestamps()
                    .withTimestampAssigner((event, before) -> event.row))
            .setParallelism(1);
    CEP.pattern(events.keyBy(event -> event.key), pattern)
        .process(new Keep(names))
        .returns(Integer.class)
        .print();
    environment.execute();
  }

  static long[] column(String file) throws Exception {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(file)));
    long[] values = new long[bytes.remaining() / Long.BYTES];
    bytes.order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(values);
    return values;
  }

  /** CODES KEYS STEPS NEGATED WINDOW THREADS, where NEGATED is 0 or the number of a step. */
  public static void main(String[] arguments) throws Exception {
    codes = column(arguments[0]);
    keys = column(arguments[1]);
    int steps = Integer.parseInt(arguments[2]);
    int negated = Integer.parseInt(arguments[3]);
    long window = Long.parseLong(arguments[4]);
    int threads = Integer.parseInt(arguments[5]);
    List<String> names = new ArrayList<>();
    for (int number = 1; number <= steps; number++) {
      if (number != negated) {
        names.add(Integer.toString(number));
      }
    }
    System.out.println("ready");
    Scanner asked = new Scanner(System.in);
    while (asked.hasNextLine()) {
      asked.nextLine();
      found.clear();
      run(pattern(steps, negated, window), names.toArray(new String[0]), threads);
      long sum = found.stream().flatMapToLong(java.util.Arrays::stream).sum();
      long starts = found.stream().mapToLong(rows -> rows[0]).distinct().count();
      System.out.println("found " + found.size() + " " + sum + " " + starts);
    }
  }
}
