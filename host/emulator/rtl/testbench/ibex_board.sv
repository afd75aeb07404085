// A board with the core Ibex (RV32IMC). Macros choose the configuration: IBEX_MULTIPLIER is the type of the multiplier,
// IBEX_WRITEBACK and IBEX_BRANCH_ALU are 1 to add a third stage and an adder for branch targets.
module board
  import ibex_pkg::*;
(
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

  logic [4:0] read_a, read_b, write_address;
  logic write_enable, dummy_id, dummy_wb;
  logic [31:0] value_a, value_b, write_value;
  ibex_register_file_ff #(
      .DataWidth(32)
  ) registers (
      .clk_i(clk),
      .rst_ni(rst_n),
      .test_en_i(1'b0),
      .dummy_instr_id_i(dummy_id),
      .dummy_instr_wb_i(dummy_wb),
      .raddr_a_i(read_a),
      .rdata_a_o(value_a),
      .raddr_b_i(read_b),
      .rdata_b_o(value_b),
      .waddr_a_i(write_address),
      .wdata_a_i(write_value),
      .we_a_i(write_enable),
      .err_o()
  );

  // There is no instruction cache.
  logic [IC_TAG_SIZE-1:0] no_tag[IC_NUM_WAYS];
  logic [IC_LINE_SIZE-1:0] no_line[IC_NUM_WAYS];
  assign no_tag = '{default: '0};
  assign no_line = '{default: '0};

  ibex_core #(
      .RV32M(`IBEX_MULTIPLIER),
      .WritebackStage(`IBEX_WRITEBACK),
      .BranchTargetALU(`IBEX_BRANCH_ALU)
  ) core (
      .clk_i(clk),
      .rst_ni(rst_n),
      .hart_id_i(32'h0),
      .boot_addr_i(32'h0),  // the core starts at this address + 0x80
      .instr_req_o(instr_req),
      .instr_gnt_i(instr_gnt),
      .instr_rvalid_i(instr_rvalid),
      .instr_addr_o(instr_addr),
      .instr_rdata_i(instr_rdata),
      .instr_err_i(1'b0),
      .data_req_o(data_req),
      .data_gnt_i(data_gnt),
      .data_rvalid_i(data_rvalid),
      .data_we_o(data_we),
      .data_be_o(data_be),
      .data_addr_o(data_addr),
      .data_wdata_o(data_wdata),
      .data_rdata_i(data_rdata),
      .data_err_i(1'b0),
      .dummy_instr_id_o(dummy_id),
      .dummy_instr_wb_o(dummy_wb),
      .rf_raddr_a_o(read_a),
      .rf_raddr_b_o(read_b),
      .rf_waddr_wb_o(write_address),
      .rf_we_wb_o(write_enable),
      .rf_wdata_wb_ecc_o(write_value),
      .rf_rdata_a_ecc_i(value_a),
      .rf_rdata_b_ecc_i(value_b),
      .ic_tag_req_o(),
      .ic_tag_write_o(),
      .ic_tag_addr_o(),
      .ic_tag_wdata_o(),
      .ic_tag_rdata_i(no_tag),
      .ic_data_req_o(),
      .ic_data_write_o(),
      .ic_data_addr_o(),
      .ic_data_wdata_o(),
      .ic_data_rdata_i(no_line),
      .ic_scr_key_valid_i(1'b1),
      .ic_scr_key_req_o(),
      .irq_software_i(1'b0),
      .irq_timer_i(1'b0),
      .irq_external_i(1'b0),
      .irq_fast_i(15'h0),
      .irq_nm_i(1'b0),
      .irq_pending_o(),
      .debug_req_i(1'b0),
      .crash_dump_o(),
      .double_fault_seen_o(),
      .fetch_enable_i(IbexMuBiOn),
      .alert_minor_o(),
      .alert_major_internal_o(),
      .alert_major_bus_o(),
      .core_busy_o()
  );

  // csr_op_en_i is 1 only in the last cycle of an instruction that accesses a control register.
  logic [19:0] cycle;
  always_ff @(posedge clk) begin
    cycle <= cycle + 20'd1;
    if (core.cs_registers_i.csr_op_en_i && core.cs_registers_i.csr_addr_i == CSR_MINSTRET)
      counter_read(core.cs_registers_i.csr_rdata_o);
    if (cycle == 20'd0) running(core.cs_registers_i.minstret_raw[31:0]);
  end
endmodule

// A buffer that the wheel of the core does not contain.
module prim_buf #(
    parameter int Width = 1
) (
    input  logic [Width-1:0] in_i,
    output logic [Width-1:0] out_o
);
  assign out_o = in_i;
endmodule
