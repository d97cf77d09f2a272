import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * java -cp 'lib/*' Drive.java host port database user password: what Metabase and DBeaver do by the JDBC driver.
 * Prints `ok check` or `not ok check: why` for each.
 */
public class Drive {
  private interface Check {
    void run() throws Exception;
  }

  private static void check(String name, Check check) {
    try {
      check.run();
      System.out.println("ok " + name);
    } catch (Throwable cause) {
      System.out.println("not ok " + name + ": " + String.valueOf(cause).replace('\n', ' '));
    }
  }

  private static List<String> texts(ResultSet rows, String column) throws SQLException {
    List<String> texts = new ArrayList<>();
    while (rows.next()) texts.add(rows.getString(column));
    return texts;
  }

  private static void expect(Object expected, Object found) {
    if (!expected.equals(found)) throw new AssertionError("expected " + expected + ", found " + found);
  }

  private static void expectThat(boolean holds, Object found) {
    if (!holds) throw new AssertionError("found " + found);
  }

  private static void expectRefusal(Check check, String... wanted) {
    try {
      check.run();
    } catch (Exception refused) {
      for (String text : wanted) expectThat(refused.getMessage().contains(text), refused.getMessage());
      return;
    }
    throw new AssertionError("no refusal");
  }

  public static void main(String[] args) throws Exception {
    String url = "jdbc:clickhouse://" + args[0] + ":" + args[1] + "/" + args[2];
    String database = args[2];
    Properties login = new Properties();
    login.put("user", args[3]);
    login.put("password", args[4]);
    try (Connection connection = DriverManager.getConnection(url, login)) {
      metadata(connection.getMetaData(), database);
      questions(connection, database);
    }
    check("wrong password", () -> {
      Properties wrong = new Properties();
      wrong.putAll(login);
      wrong.put("password", args[4] + "x");
      expectRefusal(() -> {
        try (Connection connection = DriverManager.getConnection(url, wrong)) {
          connection.createStatement().executeQuery("SELECT 1");
        }
      }, "");
    });
  }

  private static void metadata(DatabaseMetaData meta, String database) {
    check("getSchemas", () -> expect(List.of(database), texts(meta.getSchemas(), "TABLE_SCHEM")));
    check("getCatalogs", () -> meta.getCatalogs());
    check("getTables", () -> {
      List<String> tables = texts(meta.getTables(null, database, "%", null), "TABLE_NAME");
      expect(List.of("records", "usage"), tables);
    });
    check("getTables as Metabase", () -> {
      String[] types = {"TABLE", "VIEW", "FOREIGN TABLE", "REMOTE TABLE", "DICTIONARY", "MATERIALIZED VIEW"};
      expect(List.of("records", "usage"), texts(meta.getTables(null, database, "%", types), "TABLE_NAME"));
    });
    check("getColumns", () -> {
      List<String> columns = texts(meta.getColumns(null, database, "usage", "%"), "COLUMN_NAME");
      expect("bucket", columns.get(0));
      expectThat(columns.contains("cost_usd"), columns);
    });
    check("getPrimaryKeys", () -> expect(List.of(), texts(meta.getPrimaryKeys(null, database, "records"), "COLUMN_NAME")));
    check("getTypeInfo", () -> {
      List<String> types = texts(meta.getTypeInfo(), "TYPE_NAME");
      expectThat(types.contains("String") && types.contains("DateTime64"), types);
    });
    check("getTableTypes", () -> expect(true, texts(meta.getTableTypes(), "TABLE_TYPE").contains("TABLE")));
    check("getIndexInfo", () -> meta.getIndexInfo(null, database, "records", false, false));
    check("getImportedKeys", () -> meta.getImportedKeys(null, database, "records"));
    check("getFunctions", () -> {
      List<String> functions = texts(meta.getFunctions(null, null, "%"), "FUNCTION_NAME");
      expectThat(functions.contains("toStartOfDay") && !functions.contains("file"), functions);
    });
    check("getProcedures", () -> meta.getProcedures(null, null, "%"));
    check("getClientInfoProperties", () -> meta.getClientInfoProperties());
    check("getDatabaseProductVersion", () -> expect(true, meta.getDatabaseProductVersion().contains(".")));
  }

  private static void questions(Connection connection, String database) {
    check("isValid", () -> expectThat(connection.isValid(3), "not valid"));
    check("a question of Metabase", () -> {
      String query = "-- Metabase:: userID: 1 queryType: MBQL queryHash: 1\n"
          + "SELECT `source`.`day` AS `day`, COUNT(*) AS `count`, SUM(`source`.`cost_usd`) AS `sum` FROM (SELECT "
          + "toStartOfDay(toDateTime(`" + database + "`.`records`.`event_time`)) AS `day`, `" + database
          + "`.`records`.`cost_usd` AS `cost_usd` FROM `" + database + "`.`records` WHERE `" + database
          + "`.`records`.`service` = ?) AS `source` GROUP BY `source`.`day` ORDER BY `source`.`day` ASC";
      try (PreparedStatement statement = connection.prepareStatement(query)) {
        statement.setString(1, "search");
        expect(true, statement.executeQuery().next());
      }
    });
    check("what Metabase asks of the instance", () -> {
      Statement statement = connection.createStatement();
      statement.executeQuery("SELECT value='1' FROM system.settings WHERE name='cloud_mode'");
      expect(List.of("UTC"), texts(statement.executeQuery("SELECT timezone() AS tz"), "tz"));
      statement.executeQuery(
          "WITH s AS (SELECT version() AS ver, splitByChar('.', ver) AS verSplit) "
              + "SELECT s.ver, toInt32(verSplit[1]), toInt32(verSplit[2]) FROM s");
    });
    check("what DBeaver asks of the instance", () -> {
      Statement statement = connection.createStatement();
      expect(List.of(database), texts(statement.executeQuery("SHOW DATABASES"), "name"));
      statement.executeQuery("SELECT name FROM system.table_engines");
      PreparedStatement tables = connection.prepareStatement(
          "SELECT name as TABLE_NAME, engine as TABLE_TYPE, database as TABLE_SCHEM,comment as REMARKS, * FROM "
              + "system.tables\nWHERE database = ?");
      tables.setString(1, database);
      expect(List.of("records", "usage"), texts(tables.executeQuery(), "TABLE_NAME"));
      ResultSet made = statement.executeQuery("SHOW CREATE TABLE " + database + ".usage");
      expectThat(made.next() && made.getString(1).contains(") ENGINE"), "no statement");
    });
    check("columns of a result", () -> {
      ResultSet rows = connection.createStatement().executeQuery("SELECT * FROM records LIMIT 0");
      expect("id", rows.getMetaData().getColumnName(1));
    });
    check("columns of a prepared statement", () -> {
      PreparedStatement statement = connection.prepareStatement("SELECT service, cost_usd FROM records WHERE service = ?");
      expect(true, statement.getMetaData() == null || statement.getMetaData().getColumnCount() == 2);
    });
    check("a map of tags", () -> {
      ResultSet rows = connection.createStatement().executeQuery("SELECT tags FROM records LIMIT 1");
      expectThat(rows.next() && rows.getString(1) != null, "no tags");
    });
    check("an unknown column", () -> expectRefusal(
        () -> connection.createStatement().executeQuery("SELECT nothing FROM records"), "47", "nothing"));
    check("a table that is not there", () -> expectRefusal(
        () -> connection.createStatement().executeQuery("SELECT * FROM attributions"), "497", "documented tables"));
    check("a statement that writes", () -> expectRefusal(
        () -> connection.createStatement().executeQuery("SELECT file('/etc/hostname')"), "497", "not allowed"));
  }
}
