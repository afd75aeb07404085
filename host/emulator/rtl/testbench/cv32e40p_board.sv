// A board with the core CV32E40P without its extensions (RV32IMC).
module board (
    input logic clk,
    input logic rst_n,
    input logic [1:0] flash_wait,
    input logic [1:0] ram_wait
);
  import "DPI-C" function void counter_read(input int instructions);
  import "DPI-C" function void running(input int instructions);

  logic instr_req, instr_gnt, instr_rvalid, data_req, data_gnt, data_rvalid, data_we;
  logic [3:0] data_be;
  logic [31:0] instr_addr, instr_rdata, data_addr, data_wdata, data_rdata;

  memory memory_i (.*);

  cv32e40p_top core (
      .clk_i(clk),
      .rst_ni(rst_n),
      .pulp_clock_en_i(1'b1),
      .scan_cg_en_i(1'b0),
      .boot_addr_i(32'h80),
      .mtvec_addr_i(32'h80000000),
      .dm_halt_addr_i(32'h0),
      .hart_id_i(32'h0),
      .dm_exception_addr_i(32'h0),
      .instr_req_o(instr_req),
      .instr_gnt_i(instr_gnt),
      .instr_rvalid_i(instr_rvalid),
      .instr_addr_o(instr_addr),
      .instr_rdata_i(instr_rdata),
      .data_req_o(data_req),
      .data_gnt_i(data_gnt),
      .data_rvalid_i(data_rvalid),
      .data_we_o(data_we),
      .data_be_o(data_be),
      .data_addr_o(data_addr),
      .data_wdata_o(data_wdata),
      .data_rdata_i(data_rdata),
      .irq_i(32'h0),
      .irq_ack_o(),
      .irq_id_o(),
      .debug_req_i(1'b0),
      .debug_havereset_o(),
      .debug_running_o(),
      .debug_halted_o(),
      .fetch_enable_i(1'b1),
      .core_sleep_o()
  );

  // The address is 0 unless an instruction that accesses a control register is in the execute stage.
  logic [19:0] cycle;
  always_ff @(posedge clk) begin
    cycle <= cycle + 20'd1;
    if (core.core_i.cs_registers_i.csr_addr_i == cv32e40p_pkg::CSR_MINSTRET)
      counter_read(core.core_i.cs_registers_i.csr_rdata_o);
    if (cycle == 20'd0) running(core.core_i.cs_registers_i.mhpmcounter_q[2][31:0]);
  end
endmodule

// The clock never stops: the firmware never sleeps, and the simulation is faster without gates.
module cv32e40p_clock_gate (
    input  logic clk_i,
    input  logic en_i,
    input  logic scan_cg_en_i,
    output logic clk_o
);
  assign clk_o = clk_i;
endmodule
